internal import CurlewLocks
internal import Dispatch

/// How a completion reaches its caller: on a queue of the user's, or at once for Curlew's own handles.
struct Delivery: Sendable {
    private let queue: DispatchQueue?
    private let handoff: Handoff?

    static let direct = Delivery()

    private init() {
        queue = nil
        handoff = nil
    }

    init(queue: DispatchQueue) {
        self.queue = queue
        handoff = Handoff()
    }

    func callAsFunction(_ work: @escaping @Sendable () -> Void) {
        guard let queue, let handoff else { return work() }
        handoff(to: queue, work)
    }
}
