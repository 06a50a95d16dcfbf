internal import CurlewCore
internal import CurlewLocks
internal import Dispatch

/// The state of response handlers: all serializers run in order, then all completions in order.
struct HandlerQueue {
    /// Serializes the result, and returns the completion to call.
    typealias Serializer = @Sendable (RunResult) -> Serialized

    struct Serialized: Sendable {
        /// The failure to serialize, which retriers are asked about.
        var error: CurlewError?
        /// Calls the completion. An error in its parameter replaces the serializer's result.
        var complete: @Sendable (CurlewError?) -> Void
    }

    private var serializers: [Serializer] = []
    private var next = 0

    var isEmpty: Bool { serializers.isEmpty }

    mutating func add(_ serializer: @escaping Serializer) { serializers.append(serializer) }

    mutating func nextSerializer() -> Serializer? {
        guard next < serializers.count else { return nil }
        defer { next += 1 }
        return serializers[next]
    }

    /// Called before another attempt: every serializer runs again.
    mutating func startOver() { next = 0 }
}

/// The delivery of a completion: on a user's queue, or immediately for Curlew's own handles.
package struct CallbackDelivery: Sendable {
    private let queue: DispatchQueue?
    private let handoff: Handoff?
    /// Entered at the creation, and left after the completion.
    private var group: DispatchGroup?

    package static let direct = CallbackDelivery()

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
    var ofMany: CallbackDelivery {
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
