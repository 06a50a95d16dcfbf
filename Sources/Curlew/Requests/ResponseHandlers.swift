internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The state of response handlers: all serializers run in order, then all completions in order.
struct HandlerQueue {
    /// Serializes the result, and returns the completion to call.
    typealias Serializer = @Sendable (RunResult) -> Serialized

    struct Serialized: Sendable {
        /// The failure to serialize, which retriers are asked about.
        var error: CurlewError?
        /// Calls the completion. An error in its parameter replaces the serializer's result.
        var complete: @Sendable (CurlewError?) -> Void
    }

    private var serializers: [Serializer] = []
    private var next = 0

    var isEmpty: Bool { serializers.isEmpty }

    mutating func add(_ serializer: @escaping Serializer) { serializers.append(serializer) }

    mutating func nextSerializer() -> Serializer? {
        guard next < serializers.count else { return nil }
        defer { next += 1 }
        return serializers[next]
    }

    /// Called before another attempt: every serializer runs again.
    mutating func startOver() { next = 0 }
}

extension Request {
    /// Adds a handler, and starts the request if the first handler starts it.
    func add(_ serializer: @escaping HandlerQueue.Serializer) {
        let (action, task) = record.withLock { record in
            (record.add(serializer, startsImmediately: startsImmediately), record.reportedTask)
        }
        switch action {
        case .none: break
        case .resume(let resumption): finishResuming(resumption, reporting: task)
        case .shelve: shelve()
        case .startHandlers: HandlerRun.start(self, drives: false)
        }
    }

    /// Adds a handler that gets the value made from the result by `make`. Unless it serializes, its failure is not
    /// reported to retriers.
    func addHandler<Own: Request, Response: HandledResponse>(
        _ delivery: Delivery,
        serializes: Bool = true,
        _ completion: @escaping @Sendable (Response) -> Void,
        announce: @escaping @Sendable (any EventMonitor, Own, Response) -> Void,
        make: @escaping @Sendable (RunResult) throws -> Response.Value
    ) {
        add { [weak self] result in
            let started = serializes ? ContinuousClock.now : nil
            let made: Result<Response.Value, CurlewError>
            var failure: CurlewError?
            do {
                made = .success(try make(result))
            } catch {
                let error = ErrorWrapping.serialization(error).located(in: result)
                made = .failure(error)
                failure = serializes ? error : nil
            }
            let duration = started.map { (ContinuousClock.now - $0) / .seconds(1) } ?? 0
            let response = Response(of: result, serializationDuration: duration, result: made)
            if let events = self?.eventSink, let own = self as? Own { events.emit { announce($0, own, response) } }
            return HandlerQueue.Serialized(error: failure) { replacement in
                let final = replacement.map { response.failing(with: $0) } ?? response
                delivery { completion(final) }
            }
        }
    }
}

extension DataRequest {
    func addUnserialized(
        _ delivery: Delivery,
        _ completion: @escaping @Sendable (DataResponse<Data?, CurlewError>) -> Void
    ) {
        addHandler(delivery, serializes: false, completion) { (monitor, request: DataRequest, response) in
            monitor.request(request, didParseResponse: response, using: nil)
        } make: {
            try $0.unserializedData.get()
        }
    }

    package func addSerialized<Serializer: DataResponseSerializerProtocol>(
        _ delivery: Delivery,
        _ serializer: Serializer,
        _ completion: @escaping @Sendable (DataResponse<Serializer.SerializedObject, CurlewError>) -> Void
    ) {
        addHandler(delivery, completion) { (monitor, request: DataRequest, response) in
            monitor.request(request, didParseResponse: response, using: serializer)
        } make: {
            try serializer.serialize(
                request: $0.request?.urlRequest, response: $0.response?.value, data: $0.body.contents,
                error: $0.sharedError)
        }
    }
}

extension DownloadRequest {
    func addUnserialized(
        _ delivery: Delivery,
        _ completion: @escaping @Sendable (DownloadResponse<URL?, CurlewError>) -> Void
    ) {
        givesFileAway()
        addHandler(delivery, serializes: false, completion) { (monitor, request: DownloadRequest, response) in
            monitor.request(request, didParseResponse: response, using: nil)
        } make: {
            try $0.unserializedFile.get()
        }
    }

    package func addSerialized<Serializer: DownloadResponseSerializerProtocol>(
        _ delivery: Delivery,
        _ serializer: Serializer,
        _ completion: @escaping @Sendable (DownloadResponse<Serializer.SerializedObject, CurlewError>) -> Void
    ) {
        givesFileAway()
        addHandler(delivery, completion) { (monitor, request: DownloadRequest, response) in
            monitor.request(request, didParseResponse: response, using: serializer)
        } make: { [weak self] result in
            try DownloadedFile.$currentLimit.withValue(self?.bodyLimit) {
                try serializer.serializeDownload(
                    request: result.request?.urlRequest, response: result.response?.value,
                    fileURL: result.body.fileURL, error: result.sharedError)
            }
        }
    }
}
