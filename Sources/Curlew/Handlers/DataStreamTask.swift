public import CurlewCore
internal import CurlewLocks
public import Foundation

/// A stream's values as sequences, in Alamofire's way: every sequence gets every chunk, and buffers what is not
/// taken. For back-pressure iterate over the request's `chunks`, `lines` or `events` instead.
public struct DataStreamTask: Sendable {
    private let request: DataStreamRequest

    init(request: DataStreamRequest) { self.request = request }

    /// Every chunk.
    public func streamingData(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: StreamOf<DataStreamRequest.Stream<Data, Never>>.BufferingPolicy = .unbounded
    ) -> StreamOf<DataStreamRequest.Stream<Data, Never>> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) { handler in
            request.consume(.direct, handler) { .success($0) }
        }
    }

    /// Every chunk as text.
    public func streamingStrings(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: StreamOf<DataStreamRequest.Stream<String, Never>>.BufferingPolicy = .unbounded
    ) -> StreamOf<DataStreamRequest.Stream<String, Never>> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) { handler in
            request.consume(.direct, handler) { .success(String(decoding: $0, as: UTF8.self)) }
        }
    }

    /// Every chunk, decoded.
    public func streamingDecodables<T: Decodable & Sendable>(
        _ type: T.Type = T.self,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: StreamOf<DataStreamRequest.Stream<T, AFError>>.BufferingPolicy = .unbounded
    ) -> StreamOf<DataStreamRequest.Stream<T, AFError>> {
        streamingResponses(
            serializedUsing: DecodableStreamSerializer<T>(),
            automaticallyCancelling: shouldAutomaticallyCancel,
            bufferingPolicy: bufferingPolicy
        )
    }

    /// What the serializer makes of every chunk.
    public func streamingResponses<Serializer: DataStreamSerializer>(
        serializedUsing serializer: Serializer,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: StreamOf<DataStreamRequest.Stream<Serializer.SerializedObject, AFError>>.BufferingPolicy =
            .unbounded
    ) -> StreamOf<DataStreamRequest.Stream<Serializer.SerializedObject, AFError>> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) { handler in
            request.consume(serializer, .direct, handler)
        }
    }

    /// Cancels the request.
    public func cancel() { request.cancel() }

    /// Lets the request go on.
    public func resume() { request.resume() }

    /// Holds the request.
    public func suspend() { request.suspend() }

    private func stream<Success: Sendable, Failure: Error>(
        _ cancels: Bool,
        _ policy: StreamOf<DataStreamRequest.Stream<Success, Failure>>.BufferingPolicy,
        _ attach: (@escaping DataStreamRequest.Handler<Success, Failure>) -> Void
    ) -> StreamOf<DataStreamRequest.Stream<Success, Failure>> {
        StreamOf(
            bufferingPolicy: policy,
            onTermination: { [request] in
                if cancels, !request.hasResult { request.cancel() }
            },
            builder: { continuation in
                attach { stream in
                    continuation.yield(stream)
                    if case .complete = stream.event { continuation.finish() }
                }
            }
        )
    }
}

extension DataStreamRequest {
    /// The stream's values as sequences, in Alamofire's way.
    public func streamTask() -> DataStreamTask { DataStreamTask(request: self) }

    var hasResult: Bool { record.withLock { $0.result != nil } }
}
