internal import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Foundation

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

extension DataRequest {
    func addUnserialized(
        _ delivery: Delivery,
        _ completion: @escaping @Sendable (AFDataResponse<Data?>) -> Void
    ) {
        add { [weak self] result in
            let response = AFDataResponse<Data?>(
                request: result.request,
                lazyResponse: result.response,
                data: result.body.data,
                metrics: result.metrics,
                serializationDuration: 0,
                result: result.sharedError.map { .failure($0) } ?? .success(result.body.data)
            )
            if let self, let events = self.eventSink {
                events.emit { $0.request(self, didParseResponse: response) }
            }
            // The retrier is not asked: nothing was serialized.
            return HandlerQueue.Serialized(error: nil) { replacement in
                let final = replacement.map { error in response.failing(with: error) } ?? response
                delivery { completion(final) }
            }
        }
    }

    func addSerialized<Serializer: DataResponseSerializerProtocol>(
        _ delivery: Delivery,
        _ serializer: Serializer,
        _ completion: @escaping @Sendable (AFDataResponse<Serializer.SerializedObject>) -> Void
    ) {
        add { [weak self] result in
            let started = ContinuousClock.now
            let serialized: AFResult<Serializer.SerializedObject>
            do {
                serialized = .success(
                    try serializer.serialize(
                        request: result.request,
                        response: result.response?.value,
                        data: result.body.data,
                        error: result.sharedError
                    )
                )
            } catch {
                serialized = .failure(ErrorWrapping.serialization(error).located(in: result))
            }
            let response = AFDataResponse<Serializer.SerializedObject>(
                request: result.request,
                lazyResponse: result.response,
                data: result.body.data,
                metrics: result.metrics,
                serializationDuration: (ContinuousClock.now - started) / .seconds(1),
                result: serialized
            )
            if let self, let events = self.eventSink {
                events.emit { $0.request(self, didParseResponse: response) }
            }
            return HandlerQueue.Serialized(error: response.error) { replacement in
                let final = replacement.map { error in response.failing(with: error) } ?? response
                delivery { completion(final) }
            }
        }
    }
}

extension DataResponse where Failure == CurlewError {
    func failing(with error: CurlewError) -> DataResponse {
        DataResponse(
            request: request,
            lazyResponse: lazyResponse,
            data: data,
            metrics: metrics,
            serializationDuration: serializationDuration,
            result: .failure(error)
        )
    }
}
