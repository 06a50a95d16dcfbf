internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// The task of a request that has response handlers, or was resumed. It is unstructured, and ends with the run and the
/// handlers. Cancelling the request cancels it.
enum HandlerRun {
    /// Starts the task. With `drives`, it runs the request; otherwise another driver does, or has, and the task only runs
    /// the handlers.
    ///
    /// The caller has called `lifecycle.beginHandlers()` under the same lock under which it found work to do. Otherwise two
    /// threads could find the same work and start two tasks.
    static func start(_ request: Request, drives: Bool) {
        guard drives else { return _ = Task { await awaitOthers(request) } }
        let run = request.record.withLock { $0.session }.map {
            Run(request: request, session: $0, rules: DriverOptions(checksStatus: false, ownsTask: true))
        }
        // Before the task starts, so that draining or cancelling the session includes this request. It leaves the shelf
        // afterwards: a thread that looks at the shelf first and then at the registry finds it.
        run?.join()
        request.unshelve()
        let task = Task { [run] in await carryOut(request, run) }
        let isCancelled = request.record.withLock { record in
            record.lifecycle.driver?.ownedTask = task
            return record.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Runs the handlers of a request that another driver carries out.
    private static func awaitOthers(_ request: Request) async {
        let result = await request.joined()
        await request.kind.reader?.untilConsumed(of: request)
        for completion in await serialize(request, result) { completion() }
    }

    private static func carryOut(_ request: Request, _ run: Run?) async {
        guard let run else {
            let error = request.isCancelled ? request.cancellation : .sessionReleased
            request.failed(with: error)
            finish(request)
            return await conclude(request, RunResult(error: error), [])
        }
        let (result, completions) = await drive(request, run)
        await conclude(request, result, completions)
        run.leave()
    }

    private static func conclude(
        _ request: Request,
        _ result: RunResult,
        _ completions: [@Sendable () -> Void]
    ) async {
        await request.cleanUp()
        request.publish(result)
        await request.kind.reader?.untilConsumed(of: request)
        // Handlers that were added since the last serializer ran.
        let late = await serialize(request, result)
        for completion in completions + late { completion() }
    }

    /// Runs the request and its serializers, and repeats both if a retrier wants that because of a serializer's
    /// failure.
    private static func drive(
        _ request: Request,
        _ run: Run
    ) async -> (RunResult, [@Sendable () -> Void]) {
        tries: while true {
            let result = await run.result()
            if let error = result.error { request.failed(with: error) }
            finish(request)
            var completions: [@Sendable () -> Void] = []
            while let (serializer, given) = request.record.withLock({ $0.nextSerializer(of: result) }) {
                let serialized = serializer(given)
                var replacement: CurlewError?
                if let error = serialized.error, !request.isCancelled {
                    switch await run.decideRetry(after: error, of: result) {
                    case .again: continue tries
                    case .end: break
                    case .endWith(let error): replacement = error
                    }
                }
                completions.append { [replacement] in serialized.complete(replacement) }
            }
            return (result, completions)
        }
    }

    /// Runs the remaining serializers, for which no retrier is asked, and finishes the request.
    private static func serialize(_ request: Request, _ result: RunResult) async -> [@Sendable () -> Void] {
        var completions: [@Sendable () -> Void] = []
        while true {
            let next = request.record.withLock { record -> (serializer: HandlerQueue.Serializer, given: RunResult)? in
                if let next = record.nextSerializer(of: result) { return next }
                // Under the lock that found no serializer: a handler that is added later starts another task.
                record.lifecycle.handlersEnded()
                return nil
            }
            guard let next else { return completions }
            // A handler that was added after the end may be the first to read the body.
            await request.kind.reader?.untilConsumed(of: request)
            let serialized = next.serializer(next.given)
            completions.append { serialized.complete(nil) }
        }
    }

    private static func finish(_ request: Request) {
        request.eventSink?.emit { $0.requestDidFinish(request) }
    }
}

extension RequestRecord {
    /// Returns the next serializer and the result to give to it. If the request was cancelled after its response was
    /// complete, that result is a failure.
    fileprivate mutating func nextSerializer(
        of result: RunResult
    ) -> (serializer: HandlerQueue.Serializer, given: RunResult)? {
        guard let serializer = handlers.nextSerializer() else { return nil }
        guard result.error == nil, isCancelled, let cancellation else { return (serializer, result) }
        let error = cancellation.located(in: result)
        return (serializer, result.failing(with: error, resumeData: result.resumeData))
    }
}

extension Request {
    /// Runs the request up to its first exchange, which waits for `resume()`, a handler or an awaiting method. Until
    /// then the request holds its session.
    package func runUntilSent() {
        if record.withLock({ $0.lifecycle.prepare() }) { HandlerRun.start(self, drives: true) }
    }

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
}

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

/// The unstructured task of a user's `async` closure about a head.
enum ConcurrencyHandle {
    /// Asks an `async` closure about a head. The task ends with its decision.
    static func ask(
        for request: Request,
        _ response: LazyResponse,
        _ handler: @escaping @Sendable (HTTPURLResponse) async -> Request.ResponseDisposition,
        _ answer: @escaping @Sendable (Request.ResponseDisposition) -> Void
    ) {
        guard let lifted = response.value else { return answer(.allow) }
        Task { answer(await UserCode.call(for: request) { await handler(lifted) }) }
    }
}
