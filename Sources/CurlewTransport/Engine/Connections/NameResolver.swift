internal import CurlewCore
internal import CurlewLocks

/// Asks the user's resolver for addresses, once for all transfers that wait for the same host.
///
/// A transfer asks when it is enqueued. If the answer is known, the transfer proceeds at once; otherwise it waits,
/// without a handle, for the command `.resolved`. The user's code runs in a detached task, never in the loop's turns:
/// no single transfer owns the question, so the cancellation of one must not end it for the others. The task is
/// cancelled when the last transfer that waits for it has ended.
///
/// Two races have no effect. An answer that arrives while its transfer ends finds it ended (`Transfers.execute`). A
/// task that has answered although its question was dropped has another number than the question that was asked since.
final class NameResolver: Sendable {
    private struct State {
        var names = ResolvedNames<ActiveTransfer>()
        /// The tasks of the questions, by number.
        var tasks: [Int: Task<Void, Never>] = [:]
    }

    private let resolver: DNSResolver
    private let ipVersion: DNSConfiguration.IPVersion
    private let state = Lock(State())

    /// `nil` if the configuration has no resolver.
    init?(_ settings: EngineSettings) {
        guard let resolver = settings.resolver else { return nil }
        (self.resolver, ipVersion) = (resolver, settings.ipVersion)
    }

    /// Returns the addresses of the host, or `nil` if the transfer has to wait for them.
    func find(_ question: HostQuestion, for transfer: ActiveTransfer) -> [String]? {
        state.withLock { state in
            switch state.names.find(question.name, for: transfer, at: .now) {
            case .known(let addresses): return addresses
            case .joined: return nil
            case .ask(let number):
                // Detached: the resolver must not see the task-local values of the caller that happens to ask first.
                state.tasks[number] = Task.detached { await self.ask(question, number) }
                return nil
            }
        }
    }

    /// Returns the last answer, which may have expired.
    func newest(_ name: HostAndPort) -> [String]? { state.withLock { $0.names.newest(name) } }

    /// Called when a transfer ends that waits for an answer.
    func abandon(_ name: HostAndPort, by transfer: ActiveTransfer) {
        let task = state.withLock { state in
            state.names.abandoned(name, by: transfer).flatMap { state.tasks.removeValue(forKey: $0) }
        }
        // Cancelling a task runs the user's cancellation handlers, which must not run in the loop's turn.
        if let task { Task.detached { task.cancel() } }
    }

    private func ask(_ question: HostQuestion, _ number: Int) async {
        let result = await answer(question)
        let answer = try? result.get()
        // The task is released outside of the lock.
        let (waiting, _) = state.withLock { state in
            let known = answer.map { (addresses: $0.addresses, timeToLive: $0.timeToLive) }
            return (
                state.names.answered(question.name, number: number, known, at: .now),
                state.tasks.removeValue(forKey: number)
            )
        }
        let addresses = result.map(\.addresses)
        for transfer in waiting { transfer.send(.resolved(addresses)) }
    }

    /// Runs the user's resolver. A result contains only addresses that can be used.
    private func answer(_ question: HostQuestion) async -> Result<DNSAnswer, CurlewError> {
        var answer: DNSAnswer
        do {
            answer = try await ResolverCall.run(resolver, for: question.name, within: question.callers)
        } catch {
            return .failure(.unresolved("the resolver failed: \(Explanation.of(error))", error))
        }
        do throws(CurlewError) {
            answer.addresses = try answer.usableAddresses(of: ipVersion)
            return .success(answer)
        } catch {
            return .failure(error)
        }
    }
}

extension Transfers {
    /// Called when the user's resolver has answered.
    func resolved(_ transfer: ActiveTransfer, _ result: Result<[String], CurlewError>) {
        guard case .resolving = transfer.stage else { return }
        switch result {
        case .failure(let error): fail(transfer, transfer.withDetails(error))
        case .success(let addresses):
            transfer.clocks.resolvingEnded(at: now)
            // A suspended transfer asks again when it is resumed: by then the answer may have expired.
            if transfer.pauses.isSuspended {
                transfer.stage = .suspended
                return
            }
            transfer.stage = .created
            enqueue(transfer, answer: addresses)
        }
    }
}
