internal import Curlew
internal import Dispatch
internal import Foundation

/// Sends a plan through a session and passes on the response while it arrives.
struct Sending: Sendable {
    enum Event: Sendable {
        case head(ResponseHead)
        case bytes(Data)
    }

    struct Outcome: Sendable {
        let head: ResponseHead
        let metrics: TransferMetrics?
        let url: URL?
    }

    let preparation: Preparation
    let session: Session

    /// Whether the body of the response is received. If not, only the head is.
    var receivesBody = true
    /// Called before the delay of a retry.
    var announce: @Sendable (RetryNote) async -> Void = { _ in }

    /// Called with the request before it is sent.
    var begin: @Sendable (DataStreamRequest) async -> Void = { _ in }

    /// Sends the request. The response is passed on while it arrives, even if the body is still being sent.
    func perform(_ handle: (Event) async throws -> Void) async throws -> Outcome {
        let request = try makeRequest()
        let retry = RetrySettings(preparation)
        if retry.limit == 0 {
            request.acceptingAnyStatus()
        } else {
            request.validate { [weak request] _, response in
                retry.check(response, retryCount: request?.retryCount ?? 0)
            }
        }
        await begin(request)
        let head = try await request.head()
        try await handle(.head(head))
        // Stopping at the head would cut off a body that is being sent: bytes that libcurl has accepted may not have
        // reached the server yet.
        if receivesBody || !preparation.plan.body.isEmpty {
            for try await chunk in request.chunks where receivesBody { try await handle(.bytes(chunk)) }
        } else {
            request.cancel()
            // The head's cookies are in the jar only once the exchange has ended.
            await session.drain()
        }
        return Outcome(head: head, metrics: request.metrics, url: request.response?.url)
    }

    /// Validates a response that was served stale under `stale-while-revalidate`. The command is about to end, and a
    /// validation in the background would end with it, so it is awaited here. The response has been shown, so a failure
    /// is ignored.
    func revalidate(after outcome: Outcome) async {
        guard outcome.metrics?.cacheStatus == .stale(.whileRevalidate), let request = try? makeRequest() else { return }
        request.cachePolicy(.revalidate)
        do { for try await _ in request.chunks {} } catch {}
    }

    private func makeRequest() throws -> DataStreamRequest {
        let request = try streamRequest()
        request.cachePolicy(preparation.invocation.cache.policy.forLibrary)
        preparation.authenticate(request)
        return request
    }

    private func streamRequest() throws -> DataStreamRequest {
        let request = try preparation.plan.urlRequest()
        let interceptor = preparation.interceptor(announce: announce)
        let body: RequestBody
        switch preparation.plan.body {
        // A body in memory is part of the `URLRequest`, so that the interceptor can compress it.
        case .none, .data: return session.streamRequest(request, interceptor: interceptor)
        case .file(let path): body = .file(URL(filePath: InputFile.expanded(path)))
        case .standardInput: body = .sequence(StandardInputBody())
        case .multipart(let parts, let boundary):
            body = .multipart(try RequestPlan.form(parts, boundary: boundary))
        }
        return session.streamRequest(request, body: body, interceptor: interceptor)
    }
}

extension RequestPlan {
    /// Returns the library's request, with the body only if it is in memory.
    func urlRequest() throws -> URLRequest {
        guard let address = URL(string: url) else { throw UsageError("'\(url)' is not a URL") }
        var request = URLRequest(url: address)
        request.httpMethod = method
        for field in headers { request.setValue(field.value, forHTTPHeaderField: field.name) }
        if case .data(let bytes) = body { request.httpBody = Data(bytes) }
        return request
    }

    /// Returns the library's form. If `isHollow` is true, its files are empty, so that only the framing is encoded.
    static func form(
        _ parts: [MultipartPart],
        boundary: String,
        isHollow: Bool = false
    ) throws -> MultipartFormData {
        let form = MultipartFormData(boundary: boundary)
        for part in parts {
            switch part.content {
            case .text(let text):
                form.append(Data(text.utf8), withName: part.name)
            case .file(let path, let mediaType):
                guard InputFile.exists(InputFile.expanded(path)) else {
                    throw UsageError("cannot read \(path): no such file")
                }
                let (url, name, type) = Self.description(of: path, mediaType)
                if isHollow {
                    form.append(Data(), withName: part.name, fileName: name, mimeType: type)
                } else {
                    form.append(url, withName: part.name, fileName: name, mimeType: type)
                }
            case .bytes(let bytes, let path, let mediaType):
                let (_, name, type) = Self.description(of: path, mediaType)
                form.append(isHollow ? Data() : Data(bytes), withName: part.name, fileName: name, mimeType: type)
            }
        }
        return form
    }

    private static func description(of path: String, _ mediaType: String?) -> (url: URL, name: String, type: String) {
        let url = URL(filePath: InputFile.expanded(path))
        return (url, url.lastPathComponent, mediaType ?? MIMETypes.known(forPath: path) ?? MIMETypes.unknown)
    }

    /// Returns the length of the body. `nil` if it is not known in advance.
    func bodyLength() throws -> Int64? {
        switch body {
        case .none: 0
        case .data(let bytes): Int64(bytes.count)
        case .file(let path): InputFile.length(path)
        case .standardInput: nil
        case .multipart(let parts, let boundary):
            try Self.length(of: parts, boundary: boundary)
        }
    }

    /// Returns the body for `--print=B`, or a description if it is large or streamed.
    func bodyPreview() throws -> [UInt8]? {
        let limit: Int64 = 1 << 20
        switch body {
        case .none: return nil
        case .data(let bytes): return bytes
        case .standardInput: return Array("(standard input, sent while it arrives)".utf8)
        case .file(let path):
            guard let length = InputFile.length(path), length > limit else { return try InputFile.read(path) }
            return Array("(\(Amount.bytes(length)) of \(path))".utf8)
        case .multipart(let parts, let boundary):
            let form = try Self.form(parts, boundary: boundary)
            let length = try Self.length(of: parts, boundary: boundary)
            guard length <= limit else { return Array("(\(Amount.bytes(length)) of multipart/form-data)".utf8) }
            return Array(try form.encode())
        }
    }

    /// Returns the length of a form: its framing and the current sizes of its files.
    private static func length(of parts: [MultipartPart], boundary: String) throws -> Int64 {
        var length = Int64(try form(parts, boundary: boundary, isHollow: true).encode().count)
        for part in parts {
            switch part.content {
            case .text: break
            case .file(let path, _): length += InputFile.length(path) ?? 0
            case .bytes(let bytes, _, _): length += Int64(bytes.count)
            }
        }
        return length
    }
}

/// The value of `Accept-Encoding`: the content codings that Curlew decodes.
enum AcceptedEncodings {
    static var value: String? {
        let names = Capabilities.current.contentCodings
        return names.isEmpty ? nil : names.joined(separator: ", ")
    }
}

/// Standard input, read while it arrives. Reading blocks, so it happens on a dispatch queue.
struct StandardInputBody: AsyncSequence, Sendable {
    typealias Element = Data

    func makeAsyncIterator() -> Iterator { Iterator() }

    struct Iterator: AsyncIteratorProtocol {
        private static let queue = DispatchQueue(label: "curlew.input")

        mutating func next() async throws -> Data? {
            try await withCheckedThrowingContinuation { continuation in
                Self.queue.async {
                    continuation.resume(
                        with: Result { try InputFile.readPiece(STDIN_FILENO).map { Data($0) } }
                    )
                }
            }
        }
    }
}
