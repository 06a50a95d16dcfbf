internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// Decides whether a response is acceptable. The functions take plain values, so that a validation does not have to
/// create a Foundation response.
package enum ResponseValidation {
    static let acceptableStatusCodes = 200..<300

    static func status(_ status: Int, in acceptable: some Sequence<Int>) -> Result<Void, any Error> {
        acceptable.contains(status) ? .success(()) : .failure(CurlewError.unacceptableStatus(status))
    }

    /// Compares a response's content type with the acceptable ones. The type of an empty body does not matter. Streams
    /// pass `false`, because they are checked before their body arrives.
    package static func contentType(
        _ contentType: String?,
        in acceptable: some Sequence<String>,
        bodyIsEmpty: Bool
    ) -> Result<Void, any Error> {
        if bodyIsEmpty { return .success(()) }
        let acceptable = Array(acceptable)
        let patterns = acceptable.compactMap(MediaRange.init)
        guard let contentType, let type = MediaRange(contentType) else {
            // A missing or malformed type is acceptable only if every type is.
            return patterns.contains { $0.isWildcard }
                ? .success(())
                : .failure(CurlewError.unacceptableContentType(nil, accepted: acceptable.sorted()))
        }
        return patterns.contains { $0.matches(type) }
            ? .success(())
            : .failure(CurlewError.unacceptableContentType(contentType, accepted: acceptable.sorted()))
    }

    /// Compares the content type of a file with the acceptable ones.
    static func contentType(
        _ contentType: String?,
        in acceptable: some Sequence<String>,
        file: URL?
    ) -> Result<Void, any Error> {
        guard let file else { return .failure(CurlewError.fileMissing(in: .validation)) }
        guard let size = try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber else {
            return .failure(CurlewError.fileUnreadable(file, in: .validation))
        }
        return self.contentType(contentType, in: acceptable, bodyIsEmpty: size.int64Value == 0)
    }

    /// The content types that a request accepts: the elements of its `Accept` field, otherwise every type.
    static func acceptableContentTypes(of accept: String?) -> [String] {
        accept.map { $0.split(separator: ",").map { String($0) } } ?? ["*/*"]
    }

    static func acceptableContentTypes(for urlRequest: URLRequest?) -> [String] {
        acceptableContentTypes(of: urlRequest?.value(forHTTPHeaderField: "Accept"))
    }
}

extension Request {
    /// Adds a validation. Monitors hear of its result, and its failure is wrapped in a `CurlewError`.
    func addValidation(
        _ check: @escaping @Sendable (URLRequest?, LazyResponse, ReceivedBody) -> ValidationResult
    ) -> Self {
        record.withLock { record in
            record.ensureExtras().options.validations.append { request, urlRequest, response, body in
                let result = check(urlRequest, response, body)
                request.eventSink?.emit { monitor in
                    guard let foundationResponse = response.value else { return }
                    monitor.request(
                        request, didValidateRequest: urlRequest, response: foundationResponse, data: body.data,
                        fileURL: body.fileURL, withResult: result)
                }
                switch result {
                case .success: return nil
                case .failure(let error): return error.asCurlewError(or: .validationFailed(error))
                }
            }
        }
        return self
    }

    func acceptStatuses(_ acceptable: some Sequence<Int>) -> Self {
        let acceptable = StatusSet(acceptable)
        return addValidation { _, response, _ in ResponseValidation.status(response.head.status, in: acceptable) }
    }

    /// Accepts only these content types, if there is a body. A download must have a file.
    func acceptContentTypes<S: Sequence & SendableMetatype>(
        _ acceptable: @escaping @Sendable (URLRequest?) -> S
    ) -> Self where S.Element == String {
        let needsFile = kind.purpose == .file
        return addValidation { urlRequest, response, body in
            let type = response.head.headers.value(for: "Content-Type")
            let acceptable = acceptable(urlRequest)
            switch body {
            case .file(let url): return ResponseValidation.contentType(type, in: acceptable, file: url)
            case .none where needsFile: return ResponseValidation.contentType(type, in: acceptable, file: nil)
            case .none: return .success(())
            case .data(let data):
                return ResponseValidation.contentType(type, in: acceptable, bodyIsEmpty: data.isEmpty)
            // Checked before the body arrives.
            case .streamed: return ResponseValidation.contentType(type, in: acceptable, bodyIsEmpty: false)
            }
        }
    }

    /// Accepts only statuses in 200..<300 and the content types in the request's `Accept` field.
    func acceptUsualResponses() -> Self {
        acceptStatuses(ResponseValidation.acceptableStatusCodes)
            .acceptContentTypes { ResponseValidation.acceptableContentTypes(for: $0) }
    }
}

/// Rejects unacceptable statuses for awaiting methods, and explains the rejected responses.
enum StatusCheck {
    private static let excerptLimit = 64 * 1024

    /// The error for an unacceptable status; `nil` if the status is acceptable.
    static func error(for response: LazyResponse, to method: HTTPMethod?, body: ReceivedBody)
        -> CurlewError?
    {
        let status = response.head.status
        guard !ResponseValidation.acceptableStatusCodes.contains(status) else { return nil }
        var error = CurlewError.unacceptableStatus(status)
        error.url = response.url
        explain(&error, response, to: method, body: body)
        return error
    }

    /// Adds the server's explanation to an error that only knows the status or the content type: the reason phrase and
    /// the beginning of the body. A reason that a validation has set is kept.
    static func explain(
        _ error: inout CurlewError, _ response: LazyResponse?, to method: HTTPMethod?, body: ReceivedBody
    ) {
        guard error.responseBody == nil else { return }
        error.responseBody = excerpt(of: body)
        guard error.code == .unacceptableStatus, let status = error.responseCode,
            error.reason == CurlewError.unacceptableStatus(status).reason
        else { return }
        let phrase = response.map { $0.head.reason.isEmpty ? HTTPStatus(status).reasonPhrase : $0.head.reason } ?? ""
        var reason = "Response status code was unacceptable: \(status)"
        if !phrase.isEmpty { reason += " " + Redaction.excerpt(of: phrase, limit: 60) }
        if let method { reason += ", for \(method.rawValue)" }
        if let text = shown(error.responseBody, of: response?.head) { reason += ". The body: " + text }
        error.reason = reason + "."
    }

    /// The beginning of a body as text for a reason.
    static func shown(_ body: Data?, of head: ResponseHead?) -> String? {
        guard let body, !body.isEmpty else { return nil }
        return Redaction.excerpt(of: body, type: head?.headers["Content-Type"] ?? "")
    }

    /// The first bytes of a body.
    static func excerpt(of body: ReceivedBody) -> Data? {
        switch body {
        case .none, .streamed: return nil
        case .data(let data): return data.prefix(excerptLimit)
        case .file(let url):
            guard let file = try? FileHandle(forReadingFrom: url) else { return nil }
            defer { try? file.close() }
            return try? file.read(upToCount: excerptLimit)
        }
    }
}

// The rules of awaiting methods.
extension Request {
    /// Whether the request has its own rules for acceptable responses.
    var hasOwnRules: Bool {
        record.withLock { record in
            guard let options = record.extras?.options else { return false }
            return options.acceptsAnyStatus || !options.validations.isEmpty
        }
    }

    /// Returns the shared result, or throws its error. An awaiting method also throws for an unacceptable status.
    func acceptable(_ result: RunResult) throws(CurlewError) -> RunResult {
        if let error = result.error { throw error }
        if !result.isStatusChecked, let response = result.response,
            let error = StatusCheck.error(for: response, to: result.request?.method, body: result.body), !hasOwnRules
        {
            throw error
        }
        return result
    }
}

/// A media range `type/subtype`. Both parts may be `*`.
private struct MediaRange: Equatable {
    let type: Substring
    let subtype: Substring

    /// Ignores parameters. The rest must have exactly one slash.
    init?(_ text: String) {
        let essence = text.prefix { $0 != ";" }.trimmingCharacters(in: .whitespacesAndNewlines)
        let parts = essence.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
        (type, subtype) = (parts[0], parts[1])
    }

    var isWildcard: Bool { type == "*" && subtype == "*" }

    func matches(_ other: MediaRange) -> Bool {
        (type == "*" || ASCII.equalsIgnoringCase(String(type), String(other.type)))
            && (subtype == "*" || ASCII.equalsIgnoringCase(String(subtype), String(other.subtype)))
    }
}

/// The statuses that a validation accepts, copied from any sequence of numbers.
struct StatusSet: Sequence, Sendable {
    private let statuses: Set<Int>

    init(_ acceptable: some Sequence<Int>) {
        // `200...` is infinite, and 999 is the highest status.
        if let open = acceptable as? PartialRangeFrom<Int> {
            statuses = Set(Swift.min(open.lowerBound, 1000)..<1000)
        } else {
            statuses = Set(acceptable)
        }
    }

    func makeIterator() -> Set<Int>.Iterator { statuses.makeIterator() }

    func contains(_ status: Int) -> Bool { statuses.contains(status) }
}
