public import CurlewCore
internal import CurlewLocks
public import Foundation

// Awaiting methods run the request in the awaiting task. A status outside 200..<300 is an error unless the request has
// its own `validate(…)` or `acceptingAnyStatus()`. Cancelling the first task that awaits cancels the request; a later
// one only stops waiting.
extension DataRequest {
    /// Returns the body.
    public func data() async throws(CurlewError) -> Data {
        let result = try judged(await outcome(checksStatus: true))
        return result.body.contents ?? Data()
    }

    /// Returns the body as text. Without `encoding`, the charset of the response is used. If it names none, the body is
    /// read as UTF-8, or as ISO Latin 1 if it is not valid UTF-8.
    // Disfavoured, so that a program's own `string()` with other parameters is not ambiguous.
    @_disfavoredOverload
    public func string(encoding: String.Encoding? = nil) async throws(CurlewError) -> String {
        try await serialized { result throws(CurlewError) in
            try Self.text(of: result, data: result.body.contents, encoding: encoding)
        }
    }

    /// Decodes the body.
    public func decode<T: Decodable & Sendable>(
        _ type: T.Type = T.self,
        decoder: any DataDecoder = FastJSONDecoder()
    ) async throws(CurlewError) -> T {
        try await serialized { result throws(CurlewError) in
            try Self.value(of: result, data: result.body.contents, decoder: decoder)
        }
    }

    /// Returns the whole response, whatever its status. It never throws, and validates only if you added validators.
    public func response() async -> DataResponse<Data?, CurlewError> {
        let result = await outcome(checksStatus: false)
        return DataResponse(of: result, result: result.unserializedData)
    }
}

extension Request {
    /// Whether the request has its own rules for acceptable responses.
    var hasOwnRules: Bool {
        record.withLock { record in
            guard let options = record.extras?.options else { return false }
            return options.acceptsAnyStatus || !options.validations.isEmpty
        }
    }

    /// Returns the shared result, or throws its error. An awaiting method also throws for an unacceptable status.
    func judged(_ result: RunResult) throws(CurlewError) -> RunResult {
        if let error = result.error { throw error }
        // The driver of the run may not have checked the status.
        guard let response = result.response,
            let error = StatusCheck.error(for: response, to: result.request?.method, body: result.body)
        else {
            return result
        }
        if !hasOwnRules { throw error }
        return result
    }

    static func text(of result: RunResult, data: Data?, encoding: String.Encoding?) throws(CurlewError) -> String {
        guard let data, !data.isEmpty else { return "" }
        let contentType = result.response?.head.headers.values(for: "Content-Type") ?? []
        // Alamofire's serializer reads a body without a charset as Latin 1, which garbles most of today's texts.
        if encoding == nil, let text = ResponseText.unnamedUTF8(data, contentType: contentType) { return text }
        do {
            return try StringResponseSerializer(encoding: encoding).serialize(
                data,
                method: result.request?.method,
                status: result.response?.head.status,
                contentType: contentType
            )
        } catch {
            throw ErrorWrapping.serialization(error).located(in: result)
        }
    }

    static func value<T: Decodable & Sendable>(
        of result: RunResult,
        data: Data?,
        decoder: any DataDecoder
    ) throws(CurlewError) -> T {
        do {
            return try DecodableResponseSerializer<T>(decoder: decoder).serialize(
                data,
                method: result.request?.method,
                status: result.response?.head.status
            )
        } catch {
            throw ErrorWrapping.serialization(error).located(in: result)
        }
    }
}

extension CurlewError {
    /// Adds the media type and the first bytes of a body that is not in the expected form, usually a page of HTML. If
    /// the body is what its type says, but has other members, `underlying` describes the problem.
    private mutating func showUnreadable(_ result: RunResult) {
        guard code == .decodingFailed, responseBody == nil, let head = result.response?.head,
            let body = StatusCheck.excerpt(of: result.body), let text = StatusCheck.shown(body, of: head)
        else { return }
        let type = head.headers["Content-Type"]
        let isCorrupted = if case .dataCorrupted? = underlying as? DecodingError { true } else { false }
        guard isCorrupted || type?.lowercased().contains("json") != true else { return }
        responseBody = body
        reason += " The body (\(type.map { Redaction.excerpt(of: $0, limit: 60) } ?? "no media type")): \(text)"
    }

    /// Adds the URL, the status and the metrics of the response to an error.
    func located(in result: RunResult) -> CurlewError {
        var error = self
        if error.url == nil { error.url = result.response?.url }
        if error.responseCode == nil { error.responseCode = result.response?.head.status }
        if error.metrics == nil { error.metrics = result.metrics }
        error.showUnreadable(result)
        return error
    }
}
