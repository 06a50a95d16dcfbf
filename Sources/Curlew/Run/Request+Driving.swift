internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// What a run asks and tells its request.
extension Request {
    /// What the next attempt goes by, read in one step.
    func attemptBegins() -> AttemptWishes {
        let (own, retries, hub, total) = record.withLock { record in
            (
                record.extras?.options.adapters ?? [], record.extras?.options.retriers.isEmpty == false,
                record.extras?.hooks.monitors,
                (record.extras?.options.timeouts ?? context.configuration.timeouts).total
            )
        }
        return AttemptWishes(
            adapters: adapters(own),
            hasRetriers: context.hasInterceptor || retries,
            events: EventSink(session: context.monitors, own: hub),
            totalTimeout: total
        )
    }

    /// The session's, then the request's own.
    private func adapters(_ own: [any RequestAdapter]) -> [any RequestAdapter] {
        guard context.hasInterceptor, let interceptor = context.interceptor else { return own }
        return [interceptor] + own
    }

    /// The session's, then the request's own.
    var retriers: [any RequestRetrier] {
        let own = record.withLock { $0.extras?.options.retriers ?? [] }
        guard context.hasInterceptor, let interceptor = context.interceptor else { return own }
        return [interceptor] + own
    }

    var timeouts: Timeouts { record.withLock { $0.extras?.options.timeouts } ?? context.configuration.timeouts }

    var hasRetriers: Bool { context.hasInterceptor || record.withLock { $0.extras?.options.retriers.isEmpty == false } }

    /// What the cancelled request ends with.
    var cancellation: CurlewError { record.withLock { $0.cancellationError } ?? .explicitlyCancelled }

    /// A try has failed; retriers look at it.
    func failed(with error: CurlewError) { record.withLock { $0.error = $0.error ?? error } }

    /// No retrier wants another response than the one that there is.
    func isAcceptedAfterAll() {
        // The error goes without the lock: it may hold one of the user's.
        _ = record.withLock { exchange(&$0.error, with: nil) }
    }

    /// Forgets what the last try brought. False if the request was cancelled in the meantime.
    func prepareForRetry() -> Bool {
        // The error goes without the lock: it may hold one of the user's.
        let (isReady, _) = record.withLock { record in
            guard !record.machine.isCancelled else { return (false, nil as CurlewError?) }
            let error = exchange(&record.error, with: nil)
            record.retryCount += 1
            record.body = .none
            record.download = TransferCount()
            record.handlers.startOver()
            record.machine.restarted()
            return (true, error)
        }
        return isReady
    }

    /// Whether the driver has to wait: `untilLetGo`.
    var isHeld: Bool { record.withLock { $0.machine.holdsDriver } }

    /// Waits while the request is suspended, as long as the total clock allows.
    func untilLetGo(within budget: TimeoutBudget) async throws(CurlewError) {
        guard let remaining = budget.remaining else { return await heldDriver() }
        let isInTime = await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await self.heldDriver()
                return true
            }
            group.addTask {
                // Cancelled where the other was first.
                (try? await Task.sleep(for: remaining)) == nil
            }
            let isInTime = await group.next() ?? true
            group.cancelAll()
            return isInTime
        }
        if !isInTime { throw .totalTimeout(phase: .queue) }
    }

    /// Returns when nobody holds the driver any more, or its task is cancelled.
    private func heldDriver() async {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let mayGo = record.withLock { record in
                    guard record.machine.holdsDriver, !Task.isCancelled else { return true }
                    record.heldDriver = continuation
                    return false
                }
                if mayGo { continuation.resume() }
            }
        } onCancel: {
            record.withLock { exchange(&$0.heldDriver, with: nil) }?.resume()
        }
    }

    // MARK: The driver in a user's task

    /// The result of the one run: the first who asks carries it out, the others wait for it.
    ///
    /// `value` is what the caller makes of it: where it drives, retriers are asked if that fails.
    func outcome(checksStatus: Bool, making value: (any TerminalValue)? = nil) async -> RunResult {
        let (awaited, isShelved, session, hub) = record.withLock {
            ($0.awaited(), $0.session.isShelved, $0.session.session, $0.extras?.hooks.monitors)
        }
        if awaited.startsHandlers { HandlerRun.start(self, drives: false) }
        switch awaited.action {
        case .drive(let becameResumed):
            if becameResumed, let events = EventSink(session: context.monitors, own: hub) {
                events.emitLeading(.resumed) { [self] in { $0.requestDidResume(self) } }
            }
            if isShelved { unshelve() }
            guard let session else { return await ended(with: RunResult(error: .sessionDeinitialized)) }
            return await withTaskCancellationHandler {
                var run = Run(self, in: session, rules: RunRules(checksStatus: checksStatus, ownsTask: false))
                var result = await run.result()
                if let value { await make(value, of: &result, &run) }
                if hasToCleanUp { await cleanUp() }
                run.leave()
                tellEnd(of: result)
                return result
            } onCancel: {
                self.cancel()
            }
        case .join:
            // Set up ahead, failed and tried again: it waits for somebody who wants it.
            if isInitialized { resume() }
            return await joined()
        case .ended: return record.withLock { $0.result } ?? RunResult(error: .explicitlyCancelled)
        }
    }

    /// A run that could not begin.
    private func ended(with result: RunResult) async -> RunResult {
        if hasToCleanUp { await cleanUp() }
        tellEnd(of: result)
        return result
    }

    private func tellEnd(of result: RunResult) {
        // Monitors look at it.
        if let error = result.error { failed(with: error) }
        eventSink?.emitLast(.finished) { [self] in { $0.requestDidFinish(self) } }
        conclude(result)
    }

    /// Makes the caller's value of the result, and of others as long as a retrier wants that because it fails.
    private func make(_ value: any TerminalValue, of result: inout RunResult, _ run: inout Run) async {
        while result.error == nil, let failure = await value.make(of: result) {
            switch await run.decideRetry(after: failure) {
            case .again: result = await run.result()
            case .end: return
            case .endWith(let error): return value.fail(with: error)
            }
        }
    }

    /// The run is over, and so is the request unless handlers are at work on the result.
    func conclude(_ result: RunResult) {
        if let error = result.error { failed(with: error) }
        settle(result, isLast: true)
    }

    /// Waits for somebody else's run. Cancelling this wait ends nothing but the wait.
    func joined() async -> RunResult {
        let ticket = record.withLock { $0.joiners.ticket() }
        let result = await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<RunResult?, Never>) in
                let (now, ended) = record.withLock { record -> (Bool, RunResult?) in
                    if let result = record.result { return (true, result) }
                    return (!record.joiners.wait(ticket, with: continuation), nil)
                }
                if now { continuation.resume(returning: ended) }
            }
        } onCancel: {
            record.withLock { $0.joiners.abandon(ticket) }?.resume(returning: nil)
        }
        record.withLock { $0.joiners.forget(ticket) }
        return result ?? RunResult(error: .explicitlyCancelled)
    }
}
