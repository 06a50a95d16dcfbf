package import Foundation

// Errors of requests that cannot be made: URLs, header fields, parameters, bodies, forms and adapters.

extension CurlewError {
    /// The value is not a URL: a string, a `URL` or components.
    package static func invalidURL(_ value: any Sendable) -> CurlewError {
        CurlewError(
            .invalidURL,
            phase: .creation,
            reason: "URL is not valid: \(shownURL(value))",
            detail: .value(value)
        )
    }

    // URLComponents cannot parse an invalid URL, but its text may still contain a password.
    private static func shownURL(_ value: any Sendable) -> String {
        let text = (value as? String) ?? (value as? URL)?.absoluteString ?? "\(value)"
        let path = text.prefix { $0 != "?" && $0 != "#" }
        let start = path.range(of: "//")?.upperBound ?? path.startIndex
        guard let at = lastAt(of: text, path), start <= at else { return Redaction.reference(text) }
        return path[..<start] + Redaction.reference(String(text[at...].dropFirst()))
    }

    /// Returns the `@` before the host. A password may contain `?` or `#`, at which `path` ends too early. The text in
    /// the port's position is then not a number, and the last `@` of the whole text precedes the host.
    private static func lastAt(of text: String, _ path: Substring) -> String.Index? {
        let at = path.lastIndex(of: "@")
        let rest = at.map { path[$0...].dropFirst() } ?? path
        let host = (rest.range(of: "//").map { rest[$0.upperBound...] } ?? rest).prefix { $0 != "/" }
        guard let colon = host.lastIndex(of: ":"), host[colon...].dropFirst().contains(where: { !$0.isNumber })
        else { return at }
        return text.lastIndex(of: "@")
    }

    /// Returns the error for a header field that may not be sent.
    ///
    /// The value may be a secret, and so may the part of a name after a colon:
    /// `HTTPHeader(name: "Authorization: Bearer …")`. The message therefore shows only the valid beginning of the name,
    /// and the first character that is not allowed.
    package static func invalidHeader(_ field: HTTPHeader) -> CurlewError {
        let reason: String
        if field.name.isHTTPToken {
            reason =
                "the value of the header field \(field.name) has characters that HTTP does not allow, such as a line break"
        } else if let end = field.name.utf8.firstIndex(where: { !ASCII.isTokenByte($0) }) {
            // Every byte before `end` is ASCII, so a scalar begins at `end`.
            let (start, bad) = (field.name[..<end].prefix(60), field.name.unicodeScalars[end])
            let code = String(bad.value, radix: 16, uppercase: true)
            let number = String(repeating: "0", count: max(0, 4 - code.count)) + code
            reason =
                "the name of a header field, which begins with \"\(start)\", has a character that HTTP does not allow: U+\(number)"
        } else {
            reason = "the name of a header field is empty"
        }
        return CurlewError(.invalidHeader, phase: .creation, reason: reason)
    }

    /// Returns the error for a feature that cannot be had with these settings. See `lacking` for one that another
    /// libcurl may have.
    package static func unsupported(feature: String, needs: String) -> CurlewError {
        CurlewError(.unsupported, phase: .creation, reason: "\(feature) needs \(needs)")
    }

    /// User code that makes the request threw.
    package static func requestNotCreated(_ error: any Error) -> CurlewError {
        CurlewError(
            .requestCreationFailed,
            phase: .creation,
            reason: "Creation of the URLRequest failed with error: \(Explanation.of(error))",
            underlying: error
        )
    }

    /// User code that makes the body of an upload threw.
    package static func bodyNotCreated(_ error: any Error) -> CurlewError {
        CurlewError(
            .bodyUnavailable,
            phase: .creation,
            reason: "Creation of the upload's body failed with error: \(Explanation.of(error))",
            underlying: error
        )
    }

    /// A GET request has a body.
    package static func bodyNotAllowed(_ body: Data) -> CurlewError {
        CurlewError(
            .invalidBody,
            phase: .creation,
            reason: "Invalid URLRequest: a GET request had \(body.count) bytes of body.",
            detail: .body(body)
        )
    }

    /// An adapter threw.
    package static func adaptationFailed(_ error: any Error) -> CurlewError {
        CurlewError(
            .adaptationFailed,
            phase: .adaptation,
            reason: "Request adaptation failed with error: \(Explanation.of(error))",
            underlying: error
        )
    }
}

extension CurlewError {
    /// A middleware threw.
    package static func middlewareFailed(_ error: any Error) -> CurlewError {
        CurlewError(
            .adaptationFailed,
            phase: .adaptation,
            reason: "A middleware failed with error: \(Explanation.of(error))",
            underlying: error
        )
    }

    /// An exchange adapter or a middleware changed a part of the request that is fixed.
    package static func exchangeIsFixed(_ reason: String, url: URL? = nil) -> CurlewError {
        CurlewError(
            .unsupported,
            phase: .adaptation,
            reason: "an exchange adapter or a middleware made a change that an exchange does not allow: \(reason)",
            url: url
        )
    }
}

// MARK: Parameters

extension CurlewError {
    /// The request whose parameters are to be encoded has no URL.
    package static var noURLToEncode: CurlewError {
        parameters("URL request to encode was missing a URL.", .noURL)
    }

    /// The parameters cannot be encoded as JSON.
    package static func parametersNotJSON(_ error: any Error) -> CurlewError {
        parameters("JSON could not be encoded because of error: \(Explanation.of(error))", .json, error)
    }

    /// The parameters cannot be encoded as a property list.
    package static func parametersNotPropertyList(_ error: any Error) -> CurlewError {
        parameters(
            "Property list could not be encoded because of error: \(Explanation.of(error))", .propertyList, error)
    }

    /// A custom encoding threw.
    package static func parametersNotEncoded(_ error: any Error) -> CurlewError {
        parameters("Custom parameter encoder failed with error: \(Explanation.of(error))", .custom, error)
    }

    /// The `ParameterEncoder` requires a URL.
    package static var encoderLacksURL: CurlewError {
        parameters("Encoding failed: the request has no URL.", .noComponent(method: nil))
    }

    /// The `ParameterEncoder` requires a method, and the request has none; `method` is the text in its place.
    package static func encoderLacksMethod(_ method: String) -> CurlewError {
        parameters("Encoding failed: the request has no HTTP method (\(method)).", .noComponent(method: method))
    }

    /// The encoder inside a `ParameterEncoder` threw.
    package static func encoderFailed(_ error: any Error) -> CurlewError {
        parameters("The underlying encoder failed with error: \(Explanation.of(error))", .coder, error)
    }

    private static func parameters(_ reason: String, _ detail: Detail, _ error: (any Error)? = nil) -> CurlewError {
        CurlewError(.parameterEncodingFailed, phase: .creation, reason: reason, underlying: error, detail: detail)
    }
}

// MARK: Forms

extension CurlewError {
    /// A file that a form is read from or written to is not usable.
    package static func formFile(_ file: URL, _ flaw: FileFlaw, _ error: (any Error)? = nil) -> CurlewError {
        let text =
            switch flaw {
            case .notFileURL: "The URL is not a file URL"
            case .unnamed where file.lastPathComponent.isEmpty: "The URL has no file name"
            case .unnamed: "The name has no extension, so no media type follows (pass fileName: and mimeType:)"
            case .unreachable: "The file is not reachable"
            case .directory: "The file is a directory"
            case .sizeUnknown: "The file's size is not available"
            case .unreadable: "The file could not be opened"
            case .outputNotFileURL: "The output URL is not a file URL"
            case .outputExists: "The output file exists already"
            case .outputNotCreated: "The output file could not be created"
            }
        let cause = error.map { " (\(Explanation.of($0)))" } ?? ""
        return CurlewError(
            .multipartEncodingFailed,
            phase: .creation,
            reason: "\(text): \(file.path)\(cause)",
            url: file,
            underlying: error,
            detail: .file(file, flaw)
        )
    }

    /// A header of a part contains a line break.
    package static func formHeader(_ name: String) -> CurlewError {
        form("A header of a part would break out of its line: \(name)", .header(name: name))
    }

    /// A part could not be read.
    package static func formNotRead(_ error: any Error) -> CurlewError {
        form("Reading a part failed with error: \(Explanation.of(error))", .reading, error)
    }

    /// A part ended before its declared length.
    package static func formPartEnded(after actual: UInt64, of declared: UInt64) -> CurlewError {
        form(
            "A part of the form ended after \(actual) of \(declared) declared bytes.",
            .length(declared: declared, actual: actual)
        )
    }

    /// The encoded form could not be written.
    package static func formNotWritten(_ error: any Error) -> CurlewError {
        form("Writing failed with error: \(Explanation.of(error))", .writing, error)
    }

    private static func form(_ reason: String, _ detail: Detail, _ error: (any Error)? = nil) -> CurlewError {
        CurlewError(.multipartEncodingFailed, phase: .creation, reason: reason, underlying: error, detail: detail)
    }
}

/// Converts errors that user code has thrown, depending on the code that threw them.
package enum ErrorWrapping {
    /// Converts an error of `asURLRequest`, a request modifier or an encoder.
    package static func creation(_ error: any Error) -> CurlewError {
        error.asCurlewError(or: .requestNotCreated(error))
    }

    /// Wraps an error of an adapter, even a `CurlewError`. Cancellations are not wrapped.
    package static func adaptation(_ error: any Error) -> CurlewError {
        // A cancelled adapter is a cancelled request.
        if error is CancellationError || (error as? CurlewError)?.code == .cancelled { return .cancelled }
        return .adaptationFailed(error)
    }

    /// Wraps an error of a middleware, or of a body that it returned. A `CurlewError` is not wrapped.
    package static func interception(_ error: any Error) -> CurlewError {
        if error is CancellationError { return .cancelled }
        return error.asCurlewError(or: .middlewareFailed(error))
    }

    package static func uploadable(_ error: any Error) -> CurlewError {
        error.asCurlewError(or: .bodyNotCreated(error))
    }

    package static func serialization(_ error: any Error) -> CurlewError {
        error.asCurlewError(or: .serializerFailed(error))
    }
}

extension Error {
    package func asCurlewError(or other: @autoclosure () -> CurlewError) -> CurlewError {
        (self as? CurlewError) ?? other()
    }
}

/// Describes an error within the message of another one.
package enum Explanation {
    package static func of(_ error: any Error) -> String {
        if let error = error as? CurlewError { return error.reason.isEmpty ? error.code.rawValue : error.reason }
        // An error from another library may contain the request's URL or a part of a body, with their secrets.
        return Redaction.excerpt(of: (error as? any LocalizedError)?.errorDescription ?? "\(error)", limit: 2_000)
    }
}
