internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The endpoints of a session. `EndpointState` decides; this class adds the lock, the clock and the URLs.
final class EndpointControl: Sendable {
    /// The URLs of the endpoints, in the order of the group.
    let bases: [BaseURL]
    private let isFailure: @Sendable (AttemptOutcome) -> Bool
    private let state: Lock<EndpointState>
    private let start = ContinuousClock.now

    /// Throws `.invalidURL` if there is no endpoint, if a URL cannot be a base, or if only some use TLS: a request
    /// could then be sent without it by chance.
    init(_ group: EndpointGroup) throws(CurlewError) {
        guard let state = EndpointState(group) else {
            throw CurlewError(.invalidURL, phase: .creation, reason: "the endpoint group is empty")
        }
        var bases: [BaseURL] = []
        for endpoint in group.endpoints {
            guard let url = URL(string: endpoint.url) else { throw .invalidURL(endpoint.url) }
            bases.append(try BaseURL(url))
        }
        let secure = bases.count { $0.url.scheme?.lowercased() == "https" || $0.url.scheme?.lowercased() == "wss" }
        guard secure == 0 || secure == bases.count else {
            throw CurlewError(
                .invalidURL, phase: .creation, reason: "either all endpoints of a group use TLS, or none")
        }
        self.bases = bases
        // Without an ejection it decides only which endpoints a retry avoids.
        isFailure = (group.ejection ?? EndpointGroup.Ejection()).isFailure
        self.state = Lock(state)
    }

    private var now: Duration { ContinuousClock.now - start }

    func choose(avoiding failed: Set<Int>) -> EndpointState.Choice {
        let now = now
        return state.withLock { state in
            var random = SystemRandomNumberGenerator()
            return state.choose(avoiding: failed, at: now, using: &random)
        }
    }

    /// Ends a choice. `outcome` is that of its attempt, or `nil` if there is none. Returns whether the endpoint has
    /// failed.
    func finish(_ choice: EndpointState.Choice, _ outcome: AttemptOutcome?) -> Bool {
        // Called without the lock, because it is user code.
        let isFailure = outcome.map(isFailure)
        let now = now
        state.withLock { $0.finish(choice, isFailure: isFailure, at: now) }
        return isFailure == true
    }

    func snapshot() -> [ResilienceSnapshot.Endpoint] {
        let now = now
        return zip(bases, state.withLock { $0.members(at: now) }).map { base, member in
            ResilienceSnapshot.Endpoint(
                url: Redaction.redacted(base.url), outstanding: member.outstanding, ejectedFor: member.ejectedFor)
        }
    }
}

/// The endpoints of a run: the one of the current attempt, and those that have failed earlier ones. A class, so that
/// runs without endpoints have one empty pointer. It belongs to its run.
final class UsedEndpoints {
    private let control: EndpointControl
    /// The endpoint of the current attempt, until it has ended.
    private var current: (choice: EndpointState.Choice, chosen: ContinuousClock.Instant)?
    private var failed: Set<Int> = []

    init(_ control: EndpointControl) { self.control = control }

    /// Whether another attempt would be sent to an endpoint that has not failed.
    var hasOthers: Bool { failed.count < control.bases.count }

    /// The base of the attempt's relative URLs. The first use chooses it.
    func base() -> BaseURL {
        if let current { return control.bases[current.choice.index] }
        let choice = control.choose(avoiding: failed)
        current = (choice, .now)
        return control.bases[choice.index]
    }

    /// Ends the use of the attempt's endpoint, if there is one. `outcome` gets the time since it was chosen.
    func finish(_ error: CurlewError? = nil, _ outcome: (Duration) -> AttemptOutcome?) {
        guard let (choice, chosen) = exchange(&current, with: nil) else { return }
        let hasFailed = control.finish(choice, outcome(.now - chosen))
        // The session's own limits permit no request to this endpoint, so a retry should avoid it too.
        if hasFailed || error?.code == .circuitOpen || error?.code == .limited { failed.insert(choice.index) }
    }
}
