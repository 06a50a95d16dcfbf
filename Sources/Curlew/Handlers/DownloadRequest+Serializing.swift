internal import CurlewCore
internal import Foundation

extension DownloadRequest {
    func addUnserialized(
        _ delivery: Delivery,
        _ completion: @escaping @Sendable (AFDownloadResponse<URL?>) -> Void
    ) {
        add { [weak self] result in
            let response = AFDownloadResponse<URL?>(
                request: result.request,
                lazyResponse: result.response,
                fileURL: result.body.fileURL,
                resumeData: result.resumeData,
                metrics: result.metrics,
                serializationDuration: 0,
                result: result.sharedError.map { .failure($0) } ?? .success(result.body.fileURL)
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

    func addSerialized<Serializer: DownloadResponseSerializerProtocol>(
        _ delivery: Delivery,
        _ serializer: Serializer,
        _ completion: @escaping @Sendable (AFDownloadResponse<Serializer.SerializedObject>) -> Void
    ) {
        add { [weak self] result in
            let started = ContinuousClock.now
            let serialized: AFResult<Serializer.SerializedObject>
            do {
                serialized = .success(
                    try serializer.serializeDownload(
                        request: result.request,
                        response: result.response?.value,
                        fileURL: result.body.fileURL,
                        error: result.sharedError
                    )
                )
            } catch {
                serialized = .failure(ErrorWrapping.serialization(error).located(in: result))
            }
            let response = AFDownloadResponse<Serializer.SerializedObject>(
                request: result.request,
                lazyResponse: result.response,
                fileURL: result.body.fileURL,
                resumeData: result.resumeData,
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

extension DownloadResponse where Failure == CurlewError {
    func failing(with error: CurlewError) -> DownloadResponse {
        DownloadResponse(
            request: request,
            lazyResponse: lazyResponse,
            fileURL: fileURL,
            resumeData: resumeData,
            metrics: metrics,
            serializationDuration: serializationDuration,
            result: .failure(error)
        )
    }
}
