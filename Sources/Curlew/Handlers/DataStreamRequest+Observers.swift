package import CurlewCore
internal import CurlewLocks
package import Dispatch
package import Foundation
package import FoundationNetworking

/// The outcome of a stream, for the handlers of another module of this package.
package struct StreamOutcome: Sendable {
    package let request: URLRequest?
    package let response: HTTPURLResponse?
    package let metrics: TransferMetrics?
    package let error: CurlewError?
}

// Handlers that read the body together. A sequence excludes them: the body has one reader.
extension DataStreamRequest {
    /// The delivery for a handler on that queue.
    package func delivery(on queue: DispatchQueue?) -> Delivery { Delivery(queue: queue, of: self) }

    /// Adds a handler. `prepare` makes the handler's work for each chunk as it was received, `complete` is called last.
    @discardableResult
    package func observe(
        _ delivery: Delivery,
        backlog: StreamBacklog? = nil,
        _ prepare: @escaping @Sendable (Data) -> @Sendable () -> Void,
        complete: @escaping @Sendable (StreamOutcome) -> Void
    ) -> Self {
        let consumer = StreamConsumer(prepare: prepare, delivery: delivery.ofMany, backlog: backlog)
        reading.withLock { $0.consumers.append(consumer) }
        let isReader = startPump()
        add { [weak self] result in
            HandlerQueue.Serialized(error: nil) { [weak self] replacement in
                // A handler may have thrown after the last byte was received.
                let error = result.error ?? self?.error ?? (isReader ? nil : BodyChannel.wasRead)
                let outcome = StreamOutcome(
                    request: result.request?.urlRequest,
                    response: result.response?.value,
                    metrics: result.metrics,
                    error: replacement ?? error
                )
                delivery { complete(outcome) }
            }
        }
        return self
    }

    /// Returns the value of a chunk, or its error as a `CurlewError`.
    package static func serialized<Value: Sendable>(_ make: () throws -> Value) -> Result<Value, CurlewError> {
        do { return .success(try make()) } catch { return .failure(ErrorWrapping.serialization(error)) }
    }

    /// Notifies monitors of a serialized chunk, and cancels the request if that failed and the request asks for it.
    package func parsed<Value: Sendable>(_ result: Result<Value, CurlewError>, of chunk: Data) {
        eventSink?.emitChunk(ofBytes: chunk.count) { [self] in $0.request(self, didParseStream: result) }
        guard automaticallyCancelOnStreamError, case .failure = result else { return }
        cancel()
    }

    /// Cancels the request with the error of a handler.
    package func handlerFailed(_ error: any Error) {
        cancel(with: .serializerFailed(error))
    }

    /// Whether the request has ended.
    package var hasResult: Bool { record.withLock { $0.lifecycle.result != nil } }

    /// Ends a request whose body has no reader, so that its session can be drained. If there is no claim to the body,
    /// it is discarded. If its head was requested, a later reader must not mistake the rest of the body for the whole,
    /// so the request is cancelled.
    func endUnread() {
        let (isDiscarded, isLeftUnread) = reading.withLock { reading in
            reading.endsUnread = true
            return (!reading.hasSequence && reading.pump == nil, reading.pump == nil && reading.isLeftUnread)
        }
        // A body that has ended does not delay the session, so it is kept for a later reader.
        if isDiscarded, !hasResult { startPump() }
        if isLeftUnread { cancel(with: .sessionInvalidated()) }
    }

    /// Starts to deliver chunks to handlers, also those that an ended request has buffered. The pump ends with the
    /// body. Returns `false` if a sequence reads the body, or has read it: then handlers get only the completion.
    @discardableResult
    private func startPump() -> Bool {
        let pump = StreamPump(channel: channel) { [reading] in reading.withLock { $0.consumers } }
        return reading.withLock { reading in
            guard reading.pump == nil else { return true }
            guard channel.becomesReader() else { return false }
            reading.pump = Task { await pump.run() }
            return true
        }
    }
}
