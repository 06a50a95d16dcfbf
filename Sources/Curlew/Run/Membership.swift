internal import CurlewCore

extension Run {
    /// How a run stands with the registry of its session.
    enum Membership: Sendable {
        case outside
        /// The session takes no more requests.
        case refused(CurlewError)
        /// In the registry, under the name of an exchange that has yet to begin.
        case joined
        /// In the registry, under the name of its last exchange.
        case trying

        var isInRegistry: Bool {
            switch self {
            case .outside, .refused: false
            case .joined, .trying: true
            }
        }
    }

    /// Joins the session's registry, unless the run has: cancelling and draining the session concern the request from
    /// here on.
    func join() {
        guard case .outside = membership else { return }
        do throws(CurlewError) {
            task = try session.join(request)
            membership = .joined
        } catch {
            membership = .refused(error)
        }
    }

    func enter() throws(CurlewError) {
        join()
        if case .refused(let error) = membership { throw error }
    }

    /// The run is over, with everything that belongs to it.
    func leave() {
        if membership.isInRegistry { session.leave(request, last: task) }
    }
}
