public import Curlew
public import Foundation
public import FoundationNetworking

// The methods that only Alamofire has. The composite's methods for Curlew's events do not call them, so no event
// arrives twice.
extension CompositeEventMonitor {
    private typealias AlamofireEvent = @Sendable (any EventMonitor) -> Void

    /// Returns an event that only monitors with Alamofire's methods receive.
    private static func event(_ event: @escaping AlamofireEvent) -> MonitorQueue.Event {
        { monitor in
            if let monitor = monitor as? any EventMonitor { event(monitor) }
        }
    }

    private func emitAlamofire(_ event: @escaping AlamofireEvent) { emit(Self.event(event)) }

    private func emitAlamofirePiece(_ event: @escaping AlamofireEvent) { emitPiece(Self.event(event)) }

    private func emitAlamofireBody(_ data: Data, _ event: @escaping AlamofireEvent) {
        emitBody(data, Self.event(event))
    }

    // MARK: Exchanges

    public func urlSession(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?) {
        emitAlamofire { $0.urlSession(session, didBecomeInvalidWithError: error) }
    }

    public func urlSession(
        _ session: SessionReference, task: TaskIdentifier, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        emitAlamofirePiece {
            $0.urlSession(
                session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
                totalBytesExpectedToSend: totalBytesExpectedToSend)
        }
    }

    public func urlSession(_ session: SessionReference, taskNeedsNewBodyStream task: TaskIdentifier) {
        emitAlamofire { $0.urlSession(session, taskNeedsNewBodyStream: task) }
    }

    public func urlSession(
        _ session: SessionReference, task: TaskIdentifier, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) {
        emitAlamofire {
            $0.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request)
        }
    }

    public func urlSession(
        _ session: SessionReference, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics
    ) { emitAlamofire { $0.urlSession(session, task: task, didFinishCollecting: metrics) } }

    public func urlSession(
        _ session: SessionReference, task: TaskIdentifier, didCompleteWithError error: (any Error)?
    ) { emitAlamofire { $0.urlSession(session, task: task, didCompleteWithError: error) } }

    public func urlSession(
        _ session: SessionReference, dataTask: TaskIdentifier, didReceive response: HTTPURLResponse
    ) { emitAlamofire { $0.urlSession(session, dataTask: dataTask, didReceive: response) } }

    public func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive data: Data) {
        emitAlamofireBody(data) { $0.urlSession(session, dataTask: dataTask, didReceive: data) }
    }

    public func urlSession(
        _ session: SessionReference, dataTask: TaskIdentifier, willCacheResponse response: CachedResponse
    ) { emitAlamofireBody(response.data) { $0.urlSession(session, dataTask: dataTask, willCacheResponse: response) } }

    public func urlSession(
        _ session: SessionReference, downloadTask: TaskIdentifier, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        emitAlamofire {
            $0.urlSession(
                session, downloadTask: downloadTask, didResumeAtOffset: fileOffset,
                expectedTotalBytes: expectedTotalBytes)
        }
    }

    public func urlSession(
        _ session: SessionReference, downloadTask: TaskIdentifier, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        emitAlamofirePiece {
            $0.urlSession(
                session, downloadTask: downloadTask, didWriteData: bytesWritten, totalBytesWritten: totalBytesWritten,
                totalBytesExpectedToWrite: totalBytesExpectedToWrite)
        }
    }

    public func urlSession(
        _ session: SessionReference, downloadTask: TaskIdentifier, didFinishDownloadingTo location: URL
    ) { emitAlamofire { $0.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location) } }

    // MARK: Requests

    public func request(_ request: Request, didResumeTask task: TaskIdentifier) {
        emitAlamofire { $0.request(request, didResumeTask: task) }
    }

    public func request(_ request: Request, didSuspendTask task: TaskIdentifier) {
        emitAlamofire { $0.request(request, didSuspendTask: task) }
    }

    public func request(_ request: Request, didCancelTask task: TaskIdentifier) {
        emitAlamofire { $0.request(request, didCancelTask: task) }
    }

    public func request(_ request: Request, didFailTask task: TaskIdentifier, earlyWithError error: CurlewError) {
        emitAlamofire { $0.request(request, didFailTask: task, earlyWithError: error) }
    }

    // MARK: Kinds of requests

    public func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    ) {
        emitAlamofire {
            $0.request(
                request, didValidateRequest: urlRequest, response: response, data: data, withResult: result)
        }
    }

    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, CurlewError>) {
        self.request(request, didParseResponse: response, using: nil)
    }

    public func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    ) {
        emitAlamofire {
            $0.request(request, didValidateRequest: urlRequest, response: response, withResult: result)
        }
    }

    public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
        emitAlamofire { $0.request(request, didCreateUploadable: uploadable) }
    }

    public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: CurlewError) {
        emitAlamofire { $0.request(request, didFailToCreateUploadableWithError: error) }
    }

    public func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream) {
        emitAlamofire { $0.request(request, didProvideInputStream: stream) }
    }

    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: TaskIdentifier,
        with result: Result<URL, CurlewError>
    ) { emitAlamofire { $0.request(request, didFinishDownloadingUsing: task, with: result) } }

    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
        emitAlamofire { $0.request(request, didCreateDestinationURL: url) }
    }

    public func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) {
        emitAlamofire {
            $0.request(
                request, didValidateRequest: urlRequest, response: response, fileURL: fileURL, withResult: result)
        }
    }

    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, CurlewError>) {
        self.request(request, didParseResponse: response, using: nil)
    }
}
