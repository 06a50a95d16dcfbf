package import Foundation

// Errors of responses that are too large, were not accepted, could not be decoded, or could not be stored.

// MARK: Receiving

extension CurlewError {
    /// The body exceeds the limit, in bytes.
    package static func bodyTooLarge(_ limit: Int) -> CurlewError {
        CurlewError(.limitExceeded, phase: .receive, reason: "the body is larger than \(limit) bytes")
    }
}

// MARK: Validation

extension CurlewError {
    /// The status is not accepted.
    package static func unacceptableStatus(_ status: Int) -> CurlewError {
        CurlewError(
            .unacceptableStatus,
            phase: .validation,
            reason: "Response status code was unacceptable: \(status).",
            responseCode: status
        )
    }

    /// The content type is not accepted; `nil` if the response has none.
    package static func unacceptableContentType(_ received: String?, accepted: [String]) -> CurlewError {
        let types = accepted.joined(separator: ",")
        let reason =
            received.map { "Response content type \"\($0)\" does not match any acceptable type: \(types)." }
            ?? "Response had no content type; acceptable are: \(types)."
        return CurlewError(
            .unacceptableContentType,
            phase: .validation,
            reason: reason,
            detail: .contentTypes(accepted: accepted, received: received)
        )
    }

    /// A validator of the user refused the response.
    package static func validationFailed(_ error: any Error) -> CurlewError {
        CurlewError(
            .validationFailed,
            phase: .validation,
            reason: "Custom response validation failed with error: \(Explanation.of(error))",
            underlying: error,
            detail: .custom
        )
    }
}

// MARK: Decoding

extension CurlewError {
    /// There is no body, and an empty one is not acceptable.
    package static var bodyMissing: CurlewError {
        decoding("Response could not be serialized: there is no body.", .emptyBody)
    }

    /// The response may be empty, but the type has no value for an empty body.
    package static func bodyMissing(for type: String) -> CurlewError {
        decoding(
            "Empty response cannot be serialized to \(type); use Empty, or a type that conforms to EmptyResponse.",
            .noValue(type: type)
        )
    }

    /// The body is not text in this encoding.
    package static func bodyNotText(_ encoding: String.Encoding) -> CurlewError {
        decoding("Response is no text in the encoding \(encoding).", .text(encoding))
    }

    /// The body is not JSON.
    package static func bodyNotJSON(_ error: any Error) -> CurlewError {
        decoding("Response is no JSON: \(Explanation.of(error))", .json, error)
    }

    /// The decoder threw.
    package static func bodyNotDecoded(_ error: any Error) -> CurlewError {
        decoding("Response could not be decoded because of error: \(Explanation.of(error))", .coder, error)
    }

    /// A custom serializer, or a handler of a stream, threw.
    package static func serializerFailed(_ error: any Error) -> CurlewError {
        decoding("Custom response serializer failed with error: \(Explanation.of(error))", .custom, error)
    }

    private static func decoding(_ reason: String, _ detail: Detail, _ error: (any Error)? = nil) -> CurlewError {
        CurlewError(.decodingFailed, phase: .decoding, reason: reason, underlying: error, detail: detail)
    }
}

// MARK: Downloaded files

extension CurlewError {
    /// There is no downloaded file to validate or to decode.
    package static func fileMissing(in phase: Phase) -> CurlewError {
        let isValidation = phase == .validation
        return CurlewError(
            isValidation ? .validationFailed : .decodingFailed,
            phase: phase,
            reason: "Response could not be \(isValidation ? "validated" : "serialized"): there is no file.",
            detail: .noFile
        )
    }

    /// The downloaded file to validate or to decode cannot be read.
    package static func fileUnreadable(_ file: URL, in phase: Phase) -> CurlewError {
        let what = phase == .validation ? "validated" : "serialized"
        return CurlewError(
            .fileUnreadable,
            phase: phase,
            reason: "Response could not be \(what): the file is unreadable: \(file.path)",
            detail: .file(file, .unreadable)
        )
    }

    /// Wraps the error that prevented the move of a downloaded file. Its message names the path that is in the way.
    package static func fileNotMoved(_ error: CurlewError, from source: URL, to destination: URL) -> CurlewError {
        var failure = CurlewError(
            error.code,
            phase: .file,
            reason: "Moving the downloaded file to its destination failed with error: \(error.reason)",
            underlying: error.underlying ?? error,
            native: error.native
        )
        failure.suggestion = error.suggestion
        failure.detail = .move(from: source, to: destination)
        return failure
    }
}
