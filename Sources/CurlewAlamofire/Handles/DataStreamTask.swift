public import Curlew
public import Foundation

/// A stream's values as sequences, as in Alamofire: every sequence receives every chunk.
///
/// A slow reader stops the sender: a sequence holds a quarter of a megabyte that has not been read, and the next chunk
/// is read when all sequences have room. So read every sequence that you create, or release it. With a
/// `bufferingPolicy`, a sequence does not wait for its reader, and treats unread values as the policy says:
/// `.unbounded` fills the memory.
public struct DataStreamTask: Sendable {
    private let request: DataStreamRequest

    init(request: DataStreamRequest) { self.request = request }

    /// Every chunk.
    public func streamingData(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: StreamOf<DataStreamRequest.Stream<Data, Never>>.BufferingPolicy? = nil
    ) -> StreamOf<DataStreamRequest.Stream<Data, Never>> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) { backlog, handler in
            request.consume(.direct, backlog: backlog, handler) { .success($0) }
        }
    }

    /// Every chunk as text.
    public func streamingStrings(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: StreamOf<DataStreamRequest.Stream<String, Never>>.BufferingPolicy? = nil
    ) -> StreamOf<DataStreamRequest.Stream<String, Never>> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) { backlog, handler in
            request.consume(.direct, backlog: backlog, handler) { .success(String(decoding: $0, as: UTF8.self)) }
        }
    }

    /// Every chunk, decoded.
    public func streamingDecodables<T: Decodable & Sendable>(
        _ type: T.Type = T.self,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: StreamOf<DataStreamRequest.Stream<T, CurlewError>>.BufferingPolicy? = nil
    ) -> StreamOf<DataStreamRequest.Stream<T, CurlewError>> {
        streamingResponses(
            serializedUsing: DecodableStreamSerializer<T>(),
            automaticallyCancelling: shouldAutomaticallyCancel,
            bufferingPolicy: bufferingPolicy
        )
    }

    /// The values that the serializer makes of the chunks.
    public func streamingResponses<Serializer: DataStreamSerializer>(
        serializedUsing serializer: Serializer,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: StreamOf<DataStreamRequest.Stream<Serializer.SerializedObject, CurlewError>>.BufferingPolicy? =
            nil
    ) -> StreamOf<DataStreamRequest.Stream<Serializer.SerializedObject, CurlewError>> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) { backlog, handler in
            request.consume(serializer, .direct, backlog: backlog, handler)
        }
    }

    /// Cancels the request.
    public func cancel() { request.cancel() }

    /// Starts the request, or continues it after `suspend()`.
    public func resume() { request.resume() }

    /// Suspends the request.
    public func suspend() { request.suspend() }

    private func stream<Success: Sendable, Failure: Error>(
        _ cancels: Bool,
        _ policy: StreamOf<DataStreamRequest.Stream<Success, Failure>>.BufferingPolicy?,
        _ attach: (StreamBacklog?, @escaping DataStreamRequest.Handler<Success, Failure>) -> Void
    ) -> StreamOf<DataStreamRequest.Stream<Success, Failure>> {
        let backlog = policy == nil ? StreamBacklog() : nil
        return StreamOf(
            bufferingPolicy: policy ?? .unbounded,
            backlog: backlog,
            onTermination: { [request] in
                if cancels, !request.hasResult { request.cancel() }
            },
            builder: { continuation in
                attach(backlog) { stream in
                    continuation.yield(stream)
                    if case .complete = stream.event { continuation.finish() }
                }
            }
        )
    }
}

extension DataStreamRequest {
    /// The stream's values as sequences, as in Alamofire.
    public func streamTask() -> DataStreamTask { DataStreamTask(request: self) }
}
