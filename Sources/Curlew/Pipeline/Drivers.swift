internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// A run is driven in the task of the first caller that awaits its result, or in a task that `HandlerRun` starts.
extension Request {
    // MARK: In the task of a caller

    /// The state that an awaiting method finds, read in one step.
    struct Awaiting {
        let action: RequestLifecycle.AwaitAction
        let link: SessionLink
        let options: AttemptOptions
    }

    // Never inlined: keeps the frame of the waiting task small.
    @inline(never)
    func beginAwaiting() -> Awaiting {
        record.withLock { record in
            let action = record.lifecycle.awaitResult(hasHandlers: !record.handlers.isEmpty)
            return Awaiting(action: action, link: record.link, options: record.attemptOptions(in: context))
        }
    }

    /// Returns the result of the request's only run, and makes the caller's `value` from it. The first caller drives
    /// the run, and the others wait for it. If the caller drives the run and `value` fails, retriers are asked.
    func outcome(
        of awaiting: Awaiting,
        checksStatus: Bool,
        making value: (any AwaitedValue)? = nil
    ) async -> RunResult {
        switch awaiting.action {
        case .drive(let becameResumed, let startsHandlers):
            if startsHandlers {
                usersHandle.keepHandle()
                HandlerRun.start(self, drives: false)
            }
            if becameResumed {
                awaiting.options.events?.emit { [self] in $0.requestDidResume(self) }
            }
            let run: Run
            do throws(CurlewError) {
                guard let session = awaiting.link.session else { throw .sessionReleased }
                run = try Run(
                    request: self, session: session, checksStatus: checksStatus, ownsTask: false,
                    firstOptions: awaiting.options)
            } catch {
                return await ended(with: RunResult(error: error))
            }
            // Called after the run has joined the registry, so that a thread that looks at the shelf first and then at
            // the registry finds the request.
            if case .shelved = awaiting.link { unshelve() }
            return await withTaskCancellationHandler {
                var result = await run.result()
                if let value { await make(value, of: &result, run) }
                // Recorded before the clean-up, because resume data exists only for a request with an error.
                if let error = result.error { recordFailure(error) }
                if kind.hasToCleanUp { await cleanUp() }
                run.leave()
                publish(result, isLast: true)
                return result
            } onCancel: {
                self.cancel()
            }
        case .join(let hold):
            // The run was begun by `runUntilSent()`, and waits until its result is asked for.
            if isInitialized { resume() }
            hold?.resolve(())
            return await joined()
        case .ended(let result): return result
        }
    }

    /// Removes the temporary files of the request. Called after the last attempt.
    func cleanUp() async {
        await kind.upload?.cleanUp()
        await kind.cleanUp?(self)
    }

    /// Ends a request whose run could not begin.
    private func ended(with result: RunResult) async -> RunResult {
        if kind.hasToCleanUp { await cleanUp() }
        publish(result, isLast: true)
        return result
    }

    /// Makes the caller's value from the result. If that fails, retriers are asked, and it is made from the next
    /// attempt's result.
    private func make(_ value: any AwaitedValue, of result: inout RunResult, _ run: Run) async {
        while result.error == nil, let failure = await value.make(of: result) {
            switch await run.decideRetry(after: failure, of: result) {
            case .again: result = await run.result()
            case .end(let replacement):
                if let replacement { value.fail(with: replacement) }
                return
            }
        }
    }

    /// Waits for a run that another driver carries out. Cancelling the wait does not cancel the request. With
    /// `isCleaningUp`, the wait continues although the task is cancelled.
    func joined(isCleaningUp: Bool = false) async -> RunResult {
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
        let awaiting = beginAwaiting()
        guard awaiting.options.hasRetriers else {
            return try await serialize(try acceptable(await outcome(of: awaiting, checksStatus: true)))
        }
        let value = SerializedValue(serialize)
        let result = await outcome(of: awaiting, checksStatus: true, making: value)
        return try await value.value(of: try acceptable(result))
    }
}

// MARK: - In a task of Curlew's

/// The task of a request that has response handlers, or was resumed. It is unstructured, and ends with the run and the
/// handlers. Cancelling the request cancels it.
enum HandlerRun {
    /// Starts the task. With `drives`, it runs the request; otherwise another driver does, or has, and the task only
    /// runs the handlers.
    ///
    /// The caller has called `lifecycle.beginHandlers()` under the same lock under which it found work to do. Otherwise
    /// two threads could find the same work and start two tasks.
    static func start(_ request: Request, drives: Bool) {
        guard drives else {
            // Handlers refer to the user's handle, which the end of the run may be the last to hold.
            let users = request.usersHandle
            _ = Task {
                await awaitOthers(request)
                withExtendedLifetime(users) {}
            }
            return
        }
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

    /// Runs the handlers of a request that another driver carries out.
    private static func awaitOthers(_ request: Request) async {
        let result = await request.joined()
        await request.kind.reader?.untilConsumed(of: request)
        for completion in await serialize(request, result) { completion() }
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
            if let error = result.error { request.recordFailure(error) }
            emitFinish(of: request)
            var completions: [@Sendable () -> Void] = []
            while let (serializer, given) = request.record.withLock({ $0.nextSerializer(of: result) }) {
                let serialized = serializer(given)
                var replacement: CurlewError?
                if let error = serialized.error, !request.isCancelled {
                    switch await run.decideRetry(after: error, of: result) {
                    case .again: continue tries
                    case .end(let error): replacement = error
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
        if record.withLock({ $0.lifecycle.prepare() }) { HandlerRun.start(self, drives: true) }
    }
}
