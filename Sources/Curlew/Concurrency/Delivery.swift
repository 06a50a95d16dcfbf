internal import CurlewLocks
internal import Dispatch

/// How a completion reaches its caller: on a queue of the user's, or at once for Curlew's own handles.
package struct Delivery: Sendable {
    private let queue: DispatchQueue?
    private let handoff: Handoff?
    /// Entered already; left behind the completion.
    private var group: DispatchGroup?

    package static let direct = Delivery()

    private init() {
        queue = nil
        handoff = nil
    }

    init(queue: DispatchQueue) {
        self.queue = queue
        handoff = Handoff()
    }

    /// For one completion of a request: on the session's queue where there is none of its own.
    init(queue: DispatchQueue?, of request: Request) {
        let configuration = request.context.configuration
        self.init(queue: queue ?? configuration.completionQueue ?? .main)
        group = configuration.completionGroup
        group?.enter()
    }

    /// For what comes before the completion.
    var ofMany: Delivery {
        var copy = self
        copy.group = nil
        return copy
    }

    func callAsFunction(_ work: @escaping @Sendable () -> Void) {
        guard let queue, let handoff else { return work() }
        guard let group else { return handoff(to: queue, work) }
        handoff(to: queue) {
            work()
            group.leave()
        }
    }
}
