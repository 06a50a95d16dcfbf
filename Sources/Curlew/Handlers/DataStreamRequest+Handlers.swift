public import CurlewCore
internal import CurlewLocks
public import Dispatch
public import Foundation
internal import FoundationNetworking

// Stream handlers, as in Alamofire. Every handler is called with every chunk as it was received, without any framing,
// and last with the completion.
extension DataStreamRequest {
    /// Calls the handler with every chunk.
    @discardableResult
    public func responseStream(
        on queue: DispatchQueue? = nil,
        stream: @escaping Handler<Data, Never>
    ) -> Self {
        consume(Delivery(queue: queue, of: self), stream) { .success($0) }
    }

    /// Calls the handler with the value that the serializer makes from every chunk.
    @discardableResult
    public func responseStream<Serializer: DataStreamSerializer>(
        using serializer: Serializer,
        on queue: DispatchQueue? = nil,
        stream: @escaping Handler<Serializer.SerializedObject, CurlewError>
    ) -> Self {
        consume(serializer, Delivery(queue: queue, of: self), stream)
    }

    @discardableResult
    package func consume<Serializer: DataStreamSerializer>(
        _ serializer: Serializer,
        _ delivery: Delivery,
        backlog: StreamBacklog? = nil,
        _ stream: @escaping Handler<Serializer.SerializedObject, CurlewError>
    ) -> Self {
        consume(delivery, backlog: backlog, stream) { [weak self] chunk in
            let result: AFResult<Serializer.SerializedObject>
            do {
                result = .success(try serializer.serialize(chunk))
            } catch {
                result = .failure(ErrorWrapping.serialization(error))
            }
            if let self { self.parsed(result, of: chunk) }
            return result
        }
    }

    /// Calls the handler with every chunk as text. Invalid UTF-8 is replaced.
    @discardableResult
    public func responseStreamString(
        on queue: DispatchQueue? = nil,
        stream: @escaping Handler<String, Never>
    ) -> Self {
        consume(Delivery(queue: queue, of: self), stream) { [weak self] chunk in
            let text = String(decoding: chunk, as: UTF8.self)
            if let self { self.parsed(.success(text), of: chunk) }
            return .success(text)
        }
    }

    /// Calls the handler with the value decoded from every chunk.
    @discardableResult
    public func responseStreamDecodable<T: Decodable & Sendable>(
        of type: T.Type = T.self,
        on queue: DispatchQueue? = nil,
        using decoder: any DataDecoder = FastJSONDecoder(),
        preprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        stream: @escaping Handler<T, CurlewError>
    ) -> Self {
        responseStream(
            using: DecodableStreamSerializer<T>(decoder: decoder, dataPreprocessor: preprocessor),
            on: queue,
            stream: stream
        )
    }

    private func parsed<Value: Sendable>(_ result: AFResult<Value>, of chunk: Data) {
        eventSink?.emitChunk(ofBytes: chunk.count) { [self] in $0.request(self, didParseStream: result) }
        guard automaticallyCancelOnStreamError, case .failure = result else { return }
        cancel()
    }

    @discardableResult
    package func consume<Success: Sendable, Failure: Error>(
        _ delivery: Delivery,
        backlog: StreamBacklog? = nil,
        _ handler: @escaping Handler<Success, Failure>,
        _ serialize: @escaping @Sendable (Data) -> Result<Success, Failure>
    ) -> Self {
        let token = CancellationToken(request: self)
        let consumer = StreamConsumer(
            prepare: { chunk in
                let result = serialize(chunk)
                return {
                    do {
                        try handler(Stream(event: .stream(result), token: token))
                    } catch {
                        token.request?.handlerFailed(error)
                    }
                }
            },
            delivery: delivery.ofMany,
            backlog: backlog
        )
        reading.withLock { $0.consumers.append(consumer) }
        let isReader = startPump()
        add { result in
            HandlerQueue.Serialized(error: nil) { replacement in
                // A handler may have thrown after the last byte was received.
                let error = result.error ?? token.request?.error ?? (isReader ? nil : BodyChannel.wasRead)
                let completion = Completion(
                    request: result.request?.urlRequest,
                    response: result.response?.value,
                    metrics: result.metrics,
                    error: replacement ?? error
                )
                // The response is final, so an error that the handler throws here has no effect.
                delivery { try? handler(Stream(event: .complete(completion), token: token)) }
            }
        }
        return self
    }

    private func handlerFailed(_ error: any Error) {
        cancel(with: .serializerFailed(error))
    }

    /// Whether the request has ended.
    package var hasResult: Bool { record.withLock { $0.run.result != nil } }

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
