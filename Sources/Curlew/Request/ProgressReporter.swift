internal import CurlewLocks
internal import Dispatch
internal import Foundation

/// Tells a closure and streams how far a transfer has come.
///
/// Counts that arrive faster than the closure's queue takes them are merged: the last one always comes.
final class ProgressReporter: Sendable {
    typealias Handler = @Sendable (Progress) -> Void

    private struct State {
        var handler: (queue: DispatchQueue, body: Handler)?
        var streams: [AsyncStream<Progress>.Continuation] = []
        var waiting: TransferCount?
        var isScheduled = false
        var isFinished = false
    }

    private let state = Lock(State())
    private let handoff = Handoff()

    /// Of several closures the last one set is called.
    func setHandler(queue: DispatchQueue, _ body: @escaping Handler) {
        state.withLock { $0.handler = (queue, body) }
    }

    func add(_ stream: AsyncStream<Progress>.Continuation) {
        let isFinished = state.withLock { state in
            if !state.isFinished { state.streams.append(stream) }
            return state.isFinished
        }
        if isFinished { stream.finish() }
    }

    func report(_ count: TransferCount) {
        let (queue, streams) = state.withLock { state -> (DispatchQueue?, [AsyncStream<Progress>.Continuation]) in
            guard let handler = state.handler else { return (nil, state.streams) }
            state.waiting = count
            defer { state.isScheduled = true }
            return (state.isScheduled ? nil : handler.queue, state.streams)
        }
        for stream in streams { stream.yield(count.progress) }
        if let queue { handoff(to: queue) { self.deliver() } }
    }

    private func deliver() {
        let (handler, count) = state.withLock { state -> (Handler?, TransferCount?) in
            state.isScheduled = false
            return (state.handler?.body, exchange(&state.waiting, with: nil))
        }
        if let handler, let count { handler(count.progress) }
    }

    /// The request has ended: its streams end too.
    func finish() {
        let streams = state.withLock { state in
            state.isFinished = true
            return exchange(&state.streams, with: [])
        }
        for stream in streams { stream.finish() }
    }
}
