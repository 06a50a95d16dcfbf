internal import CurlewLocks
internal import Dispatch

/// The delivery of a completion: on a user's queue, or immediately for Curlew's own handles.
package struct Delivery: Sendable {
    private let queue: DispatchQueue?
    private let handoff: Handoff?
    /// Entered at the creation, and left after the completion.
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

    /// Creates the delivery for one completion of a request. Without a queue, the session's is used.
    init(queue: DispatchQueue?, of request: Request) {
        self.init(queue: queue ?? request.context.handlerQueue)
        group = request.context.configuration.handlerGroup
        group?.enter()
    }

    /// The delivery for values that precede the completion: it does not leave the group.
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
