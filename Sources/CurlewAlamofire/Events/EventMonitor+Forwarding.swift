public import Curlew
public import Foundation
public import FoundationNetworking

// Curlew's events, passed on under Alamofire's names. Methods with the same name in both protocols need no forwarding.
extension EventMonitor {
    public var wantsBodies: Bool { true }

    public func session(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?) {
        urlSession(session, didBecomeInvalidWithError: error)
    }

    // MARK: Exchanges

    public func request(_ request: Request, didChangeTask task: TaskIdentifier, to change: TaskChange) {
        switch change {
        case .resumed: self.request(request, didResumeTask: task)
        case .suspended: self.request(request, didSuspendTask: task)
        case .cancelled: self.request(request, didCancelTask: task)
        case .failed(let error): self.request(request, didFailTask: task, earlyWithError: error)
        }
    }

    public func request(_ request: Request, taskNeedsNewBodyStream task: TaskIdentifier) {
        urlSession(request.sessionReference, taskNeedsNewBodyStream: task)
    }

    public func request(
        _ request: Request, task: TaskIdentifier, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        urlSession(
            request.sessionReference, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
            totalBytesExpectedToSend: totalBytesExpectedToSend)
    }

    public func request(_ request: Request, task: TaskIdentifier, didReceive head: ResponseHead, from url: URL) {
        guard let response = head.response(from: url) else { return }
        urlSession(request.sessionReference, dataTask: task, didReceive: response)
    }

    public func request(_ request: Request, task: TaskIdentifier, didReceive data: Data) {
        urlSession(request.sessionReference, dataTask: task, didReceive: data)
    }

    public func request(_ request: Request, task: TaskIdentifier, willCacheResponse response: CachedResponse) {
        urlSession(request.sessionReference, dataTask: task, willCacheResponse: response)
    }

    public func request(_ request: Request, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics) {
        urlSession(request.sessionReference, task: task, didFinishCollecting: metrics)
    }

    public func request(_ request: Request, task: TaskIdentifier, didCompleteWithError error: CurlewError?) {
        urlSession(request.sessionReference, task: task, didCompleteWithError: error)
    }

    public func request(
        _ request: Request, task: TaskIdentifier, willFollowRedirect head: ResponseHead, from url: URL,
        to newRequest: URLRequest
    ) {
        guard let response = head.response(from: url) else { return }
        urlSession(
            request.sessionReference, task: task, willPerformHTTPRedirection: response, newRequest: newRequest)
    }

    // MARK: Bodies and files

    public func request(
        _ request: UploadRequest, didCreateBody result: Result<UploadRequest.Uploadable, CurlewError>
    ) {
        switch result {
        case .success(let uploadable):
            self.request(request, didCreateUploadable: uploadable)
            if case .stream(let stream, _) = uploadable { self.request(request, didProvideInputStream: stream) }
        case .failure(let error):
            self.request(request, didFailToCreateUploadableWithError: error)
        }
    }

    public func request(
        _ request: DownloadRequest, task: TaskIdentifier, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        urlSession(
            request.sessionReference, downloadTask: task, didResumeAtOffset: fileOffset,
            expectedTotalBytes: expectedTotalBytes)
    }

    public func request(
        _ request: DownloadRequest, task: TaskIdentifier, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        urlSession(
            request.sessionReference, downloadTask: task, didWriteData: bytesWritten,
            totalBytesWritten: totalBytesWritten, totalBytesExpectedToWrite: totalBytesExpectedToWrite)
    }

    public func request(
        _ request: DownloadRequest, didFinishDownloading result: Result<URL, CurlewError>, of task: TaskIdentifier
    ) {
        self.request(request, didFinishDownloadingUsing: task, with: result)
        guard case .success(let url) = result else { return }
        urlSession(request.sessionReference, downloadTask: task, didFinishDownloadingTo: url)
        self.request(request, didCreateDestinationURL: url)
    }

    // MARK: Responses

    public func request(
        _ request: Request, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) {
        switch request {
        case let request as DataRequest:
            self.request(
                request, didValidateRequest: urlRequest, response: response, data: data, withResult: result)
        case let request as DownloadRequest:
            self.request(
                request, didValidateRequest: urlRequest, response: response, fileURL: fileURL, withResult: result)
        case let request as DataStreamRequest:
            self.request(request, didValidateRequest: urlRequest, response: response, withResult: result)
        default: break
        }
    }

    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>,
        using serializer: (any Sendable)?
    ) {
        // The cast selects the overload for unserialized responses.
        if serializer == nil, let response = response as? DataResponse<Data?, CurlewError> {
            self.request(request, didParseResponse: response)
        } else {
            self.request(request, didParseResponse: response)
        }
    }

    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, CurlewError>,
        using serializer: (any Sendable)?
    ) {
        // The cast selects the overload for unserialized responses.
        if serializer == nil, let response = response as? DownloadResponse<URL?, CurlewError> {
            self.request(request, didParseResponse: response)
        } else {
            self.request(request, didParseResponse: response)
        }
    }
}
