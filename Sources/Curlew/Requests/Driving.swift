internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// The interface between a run and its request.
extension Request {
    /// Returns the request's options for the next attempt, read in one step.
    func attemptBegins() -> AttemptOptions { record.withLock { $0.attemptOptions(in: context) } }

    /// The session's retrier, then the request's own.
    var retriers: [any RequestRetrier] {
        let own = record.withLock { $0.extras?.options.retriers ?? [] }
        guard context.hasInterceptor, let interceptor = context.interceptor else { return own }
        return [interceptor] + own
    }

    var timeouts: Timeouts { record.withLock { $0.extras?.options.timeouts } ?? context.configuration.timeouts }

    /// The maximum size of a body in memory, or of a line or event of a stream.
    var bodyLimit: Int {
        record.withLock { $0.extras?.options.maximumBodySize } ?? context.configuration.maximumBodySize
    }

    /// The error of the cancelled request.
    var cancellation: CurlewError { record.withLock { $0.cancellation } ?? .cancelled }

    /// Records the failure of an attempt, for retriers to look at. An earlier error of the attempt is kept.
    func failed(with error: CurlewError) { record.withLock { $0.error = $0.error ?? error } }

    /// Removes the error of a response that no retrier wants to replace.
    func isAcceptedAfterAll() {
        // The error is released without the lock: it may hold a user's object.
        _ = record.withLock { exchange(&$0.error, with: nil) }
    }

    /// Begins the next attempt without the data of the last one. Returns `false` if the request has been cancelled.
    func prepareForRetry() -> Bool {
        let (isReady, _, _) = record.withLock { record -> (Bool, [Attempt], ReceivedBody?) in
            guard !record.isCancelled else { return (false, [], nil) }
            record.history.beginNextAttempt()
            let body = record.exchange?.withLock { $0.forgetBody() }
            record.handlers.startOver()
            // Retriers and WebSockets may begin attempts without end: only the first and the last ones are kept.
            return (true, record.history.forgetMiddle(), body)
        }
        return isReady
    }

    /// Waits while the request is suspended: until it is resumed, its result is asked for, or the total timeout
    /// expires. The request may be suspended when this returns.
    // Never inlined; see `Run`.
    @inline(never)
    func untilResumed(within budget: TimeoutBudget, wasAskedFor: Bool) async throws(CurlewError) {
        try await budget.limitWait(.queue) {
            _ = await self.record.withLock { $0.lifecycle.hold(wasAskedFor: wasAskedFor) }?.wait()
        }
        // The task was cancelled, and the request will be: nothing may be sent in between.
        if Task.isCancelled, record.withLock({ $0.lifecycle.holdsDriver }) { throw cancellation }
    }

    // MARK: Driving in a user's task

    /// The state that an awaiting method finds, read in one step.
    struct Awaiting {
        let action: RequestLifecycle.AwaitAction
        let link: SessionLink
        let options: AttemptOptions
    }

    // Never inlined; see `Run`.
    @inline(never)
    func awaited() -> Awaiting {
        record.withLock { record in
            let action = record.lifecycle.awaitResult(hasHandlers: !record.handlers.isEmpty)
            return Awaiting(action: action, link: record.link, options: record.attemptOptions(in: context))
        }
    }

    /// Returns the result of the request's only run. The first caller drives the run, and the others wait for it.
    func outcome(checksStatus: Bool) async -> RunResult { await outcome(of: awaited(), checksStatus: checksStatus) }

    /// Returns the result of the run, and makes the caller's `value` from it. If the caller drives the run and `value`
    /// fails, retriers are asked.
    func outcome(
        of awaiting: Awaiting,
        checksStatus: Bool,
        making value: (any AwaitedValue)? = nil
    ) async -> RunResult {
        switch awaiting.action {
        case .drive(let becameResumed, let startsHandlers):
            if startsHandlers { HandlerRun.start(self, drives: false) }
            if becameResumed {
                awaiting.options.events?.emit { [self] in $0.requestDidResume(self) }
            }
            guard let session = awaiting.link.session else {
                return await ended(with: RunResult(error: .sessionReleased))
            }
            let rules = DriverOptions(checksStatus: checksStatus, ownsTask: false)
            let run = Run(request: self, session: session, rules: rules, firstOptions: awaiting.options)
            // In this order: a thread that looks at the shelf first and then at the registry finds the request.
            run.join()
            if case .shelved = awaiting.link { unshelve() }
            return await withTaskCancellationHandler {
                var result = await run.result()
                if let value { await make(value, of: &result, run) }
                // Before the clean-up: resume data exists only for a request with an error.
                if let error = result.error { failed(with: error) }
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

    /// The data with which a later download can continue this one.
    var producedResumeData: Data? { kind.resumeData?(self) }

    /// Returns the URL in the form in which the user gave it.
    func asGiven(_ url: URL?) -> URL? { url.map { kind.connection?.asGiven($0) ?? $0 } }

    /// Adds the metrics of an exchange to the history.
    func keep(_ metrics: TransferMetrics) { record.withLock { $0.history.attempt.collectedMetrics.append(metrics) } }

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
            case .end: return
            case .endWith(let error): return value.fail(with: error)
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
        let awaiting = awaited()
        guard awaiting.options.hasRetriers else {
            return try await serialize(try acceptable(await outcome(of: awaiting, checksStatus: true)))
        }
        let value = SerializedValue(serialize)
        let result = await outcome(of: awaiting, checksStatus: true, making: value)
        return try await value.value(of: try acceptable(result))
    }
}

/// The demands of the driver of a run.
struct DriverOptions: Sendable {
    /// Whether a status outside 200..<300 is an error unless the request has its own validation.
    var checksStatus: Bool
    /// Whether Curlew started the driver's task, and may cancel it.
    var ownsTask: Bool
}
