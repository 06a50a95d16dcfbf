internal import CurlewCore

extension Run {
    /// The relation of a run to the registry of its session.
    enum Membership: Sendable {
        case outside
        /// The session refuses new requests.
        case refused(CurlewError)
        /// In the registry, under the identifier of an exchange that has yet to begin.
        case joined
        /// In the registry, under the identifier of the last exchange.
        case trying

        var isInRegistry: Bool {
            switch self {
            case .outside, .refused: false
            case .joined, .trying: true
            }
        }
    }

    /// Adds the request to the session's registry, once. From then on, cancelling and draining the session include it.
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

    /// Removes the request from the registry. Call it once the run and its clean-up have ended.
    func leave() {
        if membership.isInRegistry { session.leave(request, last: task) }
    }
}
