internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// A run is driven in the task of the first caller that awaits its result, or in one that `UnstructuredDriver` starts.
//
//     data(), decode() …        ─▶ beginAwaiting ─▶ driveOrJoin ─┬▶ drives the run in the caller's task
//                                                               └▶ waits for the run that another driver carries out
//     resume(), first handler   ─▶ UnstructuredDriver.startRun        drives the run, and then its handlers
//     response { … }            ─▶ UnstructuredDriver.startHandlers   if there is or was another driver: only the handlers
extension Request {
    // MARK: In the task of a caller

    /// The state that an awaiting method finds, read in one step.
    struct AwaitPlan {
        let action: RequestLifecycle.AwaitAction
        let link: SessionLink
        let options: AttemptOptions
    }

    // Never inlined: see `Run`.
    @inline(never)
    func beginAwaiting() -> AwaitPlan {
        record.withLock { record in
            let action = record.lifecycle.awaitResult(hasHandlers: !record.handlers.isEmpty)
            return AwaitPlan(action: action, link: record.link, options: record.attemptOptions(in: context))
        }
    }

    /// Returns the result of the request's only run, and makes the caller's `value` from it. The first caller drives
    /// the run, and the others wait for it. If the caller drives the run and `value` fails, retriers are asked.
    func driveOrJoin(
        _ plan: AwaitPlan,
        checksStatus: Bool,
        making value: (any AwaitedValue)? = nil
    ) async -> RunResult {
        switch plan.action {
        case .drive(let becameResumed, let startsHandlers):
            if startsHandlers {
                usersHandle.keepHandle()
                UnstructuredDriver.startHandlers(of: self)
            }
            if becameResumed { plan.options.events?.emit { [self] in $0.requestDidResume(self) } }
            let run: Run
            do throws(CurlewError) {
                run = try beginRun(plan, checksStatus: checksStatus)
            } catch {
                return await failBeforeRun(error)
            }
            return await withTaskCancellationHandler {
                var result = await run.result()
                if let value { await makeValue(value, of: &result, run) }
                // Recorded before the clean-up, because resume data exists only for a request with an error.
                if let error = result.error { recordFailure(error) }
                if kind.hasToCleanUp { await cleanUp() }
                publish(result, isLast: true)
                // After the end is published, so that a drained session has no request that has not finished.
                run.leave()
                return result
            } onCancel: {
                self.cancel()
            }
        case .join(let waiter):
            // The run was begun by `runUntilSent()`, and waits until its result is asked for.
            if isInitialized { resume() }
            waiter?.resolve(())
            return await joinRun()
        case .ended(let result): return result
        }
    }

    /// Removes the temporary files of the request. Called after the last attempt.
    func cleanUp() async {
        await kind.bodyMaker?.cleanUp()
        await kind.cleanUp?(self)
    }

    /// Makes the run, which joins the session's registry.
    private func beginRun(_ plan: AwaitPlan, checksStatus: Bool) throws(CurlewError) -> Run {
        guard let session = plan.link.session else { throw .sessionReleased }
        let run = try Run(
            request: self, session: session, checksStatus: checksStatus, ownsTask: false, firstOptions: plan.options)
        // Called after the run has joined the registry, so that a thread that looks at the shelf first and then at the
        // registry finds the request.
        if case .shelved = plan.link { unshelve() }
        return run
    }

    /// Ends a request whose run could not begin.
    private func failBeforeRun(_ error: CurlewError) async -> RunResult {
        let result = RunResult(error: error)
        if kind.hasToCleanUp { await cleanUp() }
        publish(result, isLast: true)
        return result
    }

    /// Makes the caller's value from the result. If that fails, retriers are asked, and it is made from the next
    /// attempt's result.
    private func makeValue(_ value: any AwaitedValue, of result: inout RunResult, _ run: Run) async {
        while result.error == nil, let failure = await value.make(of: result) {
            switch await run.retryIfWanted(after: failure, of: result) {
            case .retry: result = await run.result()
            case .doNotRetry(let replacement):
                if let replacement { value.fail(with: replacement) }
                return
            }
        }
    }

    /// Waits for a run that another driver carries out. Cancelling the wait does not cancel the request. With
    /// `isCleaningUp`, the wait continues although the task is cancelled.
    func joinRun(isCleaningUp: Bool = false) async -> RunResult {
        let (result, awaited) = record.withLock { record -> (RunResult?, OneShot<RunResult>?) in
            if let result = record.lifecycle.result { return (result, nil) }
            return (nil, record.resultToWaitFor())
        }
        if let result { return result }
        let joined = isCleaningUp ? await awaited?.waitThroughCancellation() : await awaited?.wait()
        return joined ?? RunResult(error: .cancelled)
    }
}

/// The value that an awaiting method makes from a run's result. Its failure can still be retried.
protocol AwaitedValue: AnyObject, Sendable {
    /// Makes the value. Returns the error if that fails.
    func make(of result: RunResult) async -> CurlewError?
    /// Records the error that a retrier has decided on.
    func fail(with error: CurlewError)
}

/// A value that is decoded from a body, or read from a file.
final class SerializedValue<Value: Sendable>: AwaitedValue {
    // Decoding a large body would hold up the actor that awaits it.
    typealias Serializer = @concurrent @Sendable (RunResult) async throws(CurlewError) -> Value

    private let serialize: Serializer
    private let made = Lock<Result<Value, CurlewError>?>(nil)

    init(_ serialize: @escaping Serializer) { self.serialize = serialize }

    func make(of result: RunResult) async -> CurlewError? {
        do throws(CurlewError) {
            let value = try await serialize(result)
            // The value of an earlier attempt is released without the lock.
            _ = made.withLock { exchange(&$0, with: .success(value)) }
            return nil
        } catch {
            fail(with: error)
            return error
        }
    }

    func fail(with error: CurlewError) { _ = made.withLock { exchange(&$0, with: .failure(error)) } }

    /// Returns the value. It is made here if another caller has driven the run.
    func value(of result: RunResult) async throws(CurlewError) -> Value {
        if let made = made.withLock({ $0 }) { return try made.get() }
        return try await serialize(result)
    }
}

extension Request {
    /// Returns the value that an awaiting method makes from an acceptable result. If that fails, retriers are asked,
    /// once in each attempt.
    func serialized<Value: Sendable>(
        _ serialize: @escaping SerializedValue<Value>.Serializer
    ) async throws(CurlewError) -> Value {
        let plan = beginAwaiting()
        guard plan.options.hasRetriers else {
            return try await serialize(try acceptable(await driveOrJoin(plan, checksStatus: true)))
        }
        let value = SerializedValue(serialize)
        let result = await driveOrJoin(plan, checksStatus: true, making: value)
        return try await value.value(of: try acceptable(result))
    }
}

// MARK: - Response handlers

extension Request {
    /// Adds a handler. The first one starts the request, unless the session or the request says otherwise.
    func add(_ serializer: @escaping HandlerQueue.Serializer) {
        let (action, task) = record.withLock { record in
            (record.add(serializer, startsImmediately: startsImmediately), record.reportedTask)
        }
        switch action {
        case .none: break
        case .resume(let resumption): finishResuming(resumption, reporting: task)
        case .shelve: shelve()
        case .startHandlers: UnstructuredDriver.startHandlers(of: self)
        }
    }

    /// Adds a handler that gets the value made from the result by `make`. Unless it serializes, its failure is not
    /// reported to retriers.
    func addHandler<Own: Request, Response: HandledResponse>(
        _ delivery: CallbackDelivery,
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

// MARK: - In a task of Curlew's

/// Starts the unstructured task of a request that has response handlers, or was resumed. The task ends with the run and
/// the handlers. Cancelling the request cancels a task that drives its run.
enum UnstructuredDriver {
    // Call these only for the transition of the lifecycle that has set `runsHandlers`. It does so under the lock under
    // which it finds work to do: otherwise two threads could find the same work and start two tasks.

    /// Starts a task that runs the handlers of a request that another driver carries out, or has carried out.
    static func startHandlers(of request: Request) {
        // Handlers refer to the user's handle, which the end of the run may be the last to hold.
        let users = request.usersHandle
        _ = Task {
            let result = await request.joinRun()
            await request.kind.reader?.untilConsumed(of: request)
            for completion in await serializeRest(request, result) { completion() }
            withExtendedLifetime(users) {}
        }
    }

    /// Starts a task that runs the request, and then its handlers.
    static func startRun(of request: Request) {
        let request = handleOfRun(for: request)
        // The run joins the registry before the task starts, so that draining or cancelling the session includes this
        // request. It leaves the shelf afterwards: a thread that looks at the shelf first and then at the registry
        // finds it.
        let run = Result { () throws(CurlewError) in
            guard let session = request.record.withLock({ $0.link.session }) else { throw .sessionReleased }
            return try Run(request: request, session: session, checksStatus: false, ownsTask: true)
        }
        request.unshelve()
        let task = Task { [run] in await carryOut(request, run) }
        let isCancelled = request.record.withLock { record in
            record.lifecycle.driver?.ownedTask = task
            return record.lifecycle.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Returns the handle that the run holds. For a stream or a WebSocket without handlers it is not the user's: once
    /// the user's handle has been released, nobody can read the body, and the run ends.
    ///
    /// A handler that another thread adds after this decision keeps the user's handle: see `keepHandle`.
    private static func handleOfRun(for request: Request) -> Request {
        guard let reader = request.kind.reader, request.record.withLock({ $0.handlers.isEmpty }) else { return request }
        return reader.handleOfRun(for: request)
    }

    private static func carryOut(_ request: Request, _ run: Result<Run, CurlewError>) async {
        switch run {
        case .success(let run):
            let (result, completions) = await drive(request, run)
            await conclude(request, result, completions)
            run.leave()
        case .failure(let refusal):
            let error = request.isCancelled ? request.cancellation : refusal
            request.recordFailure(error)
            emitFinish(of: request)
            await conclude(request, RunResult(error: error), [])
        }
    }

    private static func conclude(
        _ request: Request,
        _ result: RunResult,
        _ completions: [@Sendable () -> Void]
    ) async {
        // Handlers refer to the user's handle, which `publish` may be the last to hold.
        let users = request.usersHandle
        defer { withExtendedLifetime(users) {} }
        await request.cleanUp()
        request.publish(result)
        await request.kind.reader?.untilConsumed(of: request)
        // Runs handlers that were added since the last serializer ran.
        let late = await serializeRest(request, result)
        for completion in completions + late { completion() }
    }

    /// Runs the request and its serializers, and repeats both if a retrier wants that because of a serializer's
    /// failure.
    private static func drive(
        _ request: Request,
        _ run: Run
    ) async -> (RunResult, [@Sendable () -> Void]) {
        while true {
            let result = await run.result()
            if let error = result.error { request.recordFailure(error) }
            emitFinish(of: request)
            if let completions = await serialize(request, result, run) { return (result, completions) }
        }
    }

    /// Runs the serializers. Returns their completions, or `nil` if a retrier wants another attempt.
    private static func serialize(
        _ request: Request,
        _ result: RunResult,
        _ run: Run
    ) async -> [@Sendable () -> Void]? {
        var completions: [@Sendable () -> Void] = []
        while let (serializer, given) = request.record.withLock({ $0.nextSerializer(of: result) }) {
            let serialized = serializer(given)
            var replacement: CurlewError?
            if let error = serialized.error, !request.isCancelled {
                switch await run.retryIfWanted(after: error, of: result) {
                case .retry: return nil
                case .doNotRetry(let error): replacement = error
                }
            }
            completions.append { [replacement] in serialized.complete(replacement) }
        }
        return completions
    }

    /// Runs the remaining serializers, for which no retrier is asked, and finishes the request.
    private static func serializeRest(_ request: Request, _ result: RunResult) async -> [@Sendable () -> Void] {
        var completions: [@Sendable () -> Void] = []
        while true {
            let next = request.record.withLock { record -> (serializer: HandlerQueue.Serializer, given: RunResult)? in
                if let next = record.nextSerializer(of: result) { return next }
                // Under the lock that found no serializer, so that a handler that is added later starts another task.
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

    private static func emitFinish(of request: Request) {
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
        guard result.error == nil, let cancellation = lifecycle.cancellation else { return (serializer, result) }
        let error = cancellation.located(in: result)
        return (serializer, result.failing(with: error, resumeData: result.resumeData))
    }
}

extension Request {
    /// Keeps this handle until the run has ended, for handlers that refer to it.
    func keepHandle() { record.withLock { $0.lifecycle.driver?.handle = self } }

    /// Runs the request up to its first exchange, which waits for `resume()`, a handler or an awaiting method. Until
    /// then the request holds its session.
    package func runUntilSent() {
        if record.withLock({ $0.lifecycle.prepare() }) { UnstructuredDriver.startRun(of: self) }
    }
}
