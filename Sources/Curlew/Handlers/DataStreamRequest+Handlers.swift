public import CurlewCore
internal import CurlewFailures
internal import CurlewLocks
public import Dispatch
public import Foundation
internal import FoundationNetworking

// Stream handlers, as in Alamofire: every handler gets every chunk as it was received, without any framing, and the
// completion last.
extension DataStreamRequest {
    /// Calls the handler with every chunk.
    @discardableResult
    public func responseStream(
        on queue: DispatchQueue? = nil,
        stream: @escaping Handler<Data, Never>
    ) -> Self {
        consume(Delivery(queue: queue, of: self), stream) { .success($0) }
    }

    /// Calls the handler with what the serializer makes of every chunk.
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

    /// Calls the handler with every chunk as text; bytes that are no UTF-8 are replaced.
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

    /// Calls the handler with every chunk, decoded.
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
                // A handler may have failed after the last byte had come.
                let error = result.error ?? token.request?.error ?? (isReader ? nil : BodyChannel.wasRead)
                let completion = Completion(
                    request: result.request?.urlRequest,
                    response: result.response?.value,
                    metrics: result.metrics,
                    error: replacement ?? error
                )
                // What a handler throws now changes nothing any more.
                delivery { try? handler(Stream(event: .complete(completion), token: token)) }
            }
        }
        return self
    }

    private func handlerFailed(_ error: any Error) {
        cancel(with: .responseSerializationFailed(reason: .customSerializationFailed(error: error)))
    }

    /// Whether the request has ended.
    package var hasResult: Bool { record.withLock { $0.run.result != nil } }

    /// Ends a request whose body is not read, so that its session can be drained. One that nothing was to read goes by. One whose
    /// head was asked for may still get a reader, which must not take the rest of a body for its whole: it is told.
    func endUnread() {
        let (isDiscarded, isLeftUnread) = reading.withLock { reading in
            reading.endsUnread = true
            return (!reading.hasSequence && reading.pump == nil, reading.pump == nil && reading.isLeftUnread)
        }
        // The body of one that has ended keeps no session from draining: it stays for a later reader.
        if isDiscarded, !hasResult { startPump() }
        if isLeftUnread { cancel(with: .sessionInvalidated(error: nil)) }
    }

    /// Hands chunks to handlers from now on, also those that an ended request has left unread. The pump ends with the
    /// body. Returns `false` if a sequence reads the body, or has read it: then handlers get the completion alone.
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
