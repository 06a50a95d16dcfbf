import CurlewAlamofire
import Dispatch
import Foundation
import FoundationNetworking

// Call sites of the public contract, as users type them. They are compiled and not run.

private func freeFunctions(_ url: URL) {
    _ = request(url)
    _ = download(url)
    _ = upload(Data(), to: url)
    _ = streamRequest(url)
    _ = CurlewAlamofire.request(url)
    _ = CurlewAlamofire.download(url)
    _ = CurlewAlamofire.upload(Data(), to: url)
    _ = CurlewAlamofire.streamRequest(url)
    _ = Session.default.request(url)
    _ = AF.request(url)
}

private func descriptions(_ request: DataRequest, _ progress: @escaping Request.ProgressHandler) {
    let describe: (@escaping @Sendable (String) -> Void) -> Request = request.cURLDescription(calling:)
    _ = describe { print($0) }
    request.downloadProgress(closure: progress).uploadProgress(queue: .main, closure: progress)
}

private func history(_ request: DataRequest) {
    _ = (request.requests, request.firstRequest, request.lastRequest, request.request, request.performedRequests)
    _ = (request.tasks, request.firstTask, request.lastTask, request.task)
    _ = (request.allMetrics, request.firstMetrics, request.lastMetrics, request.metrics)
}

/// Methods of a program with names that requests have too.
extension DataRequest {
    func string(_ encoding: String.Encoding = .utf8) async throws -> String { try await string(encoding: encoding) }
}

extension DownloadRequest {
    func string(_ encoding: String.Encoding = .utf8) async throws -> String { try await string(encoding: encoding) }
}

private func own(_ session: Session, _ url: URL) async throws {
    let text: String = try await session.request(url).string()
    let file: String = try await session.download(url).string()
    print(text, file)
}

private struct User: Codable, Sendable { var name: String }

private func handles(_ session: Session, url: URL) async throws {
    let value = try await session.request(url).serializingDecodable(User.self).value
    _ = await session.request(url).serializingData().result
    _ = await session.request(url).serializingString().response
    _ = await session.download(url).serializingDownloadedFileURL().response
    _ = try await session.download(url).serializingDecodable(User.self).value
    for await _ in session.streamRequest(url).streamTask().streamingData() {}
    _ = value
}

private func handlers(_ session: Session, url: URL) {
    session.request(url).onURLRequestCreation { _ in }.onHTTPResponse { _ in }.resume()
    session.streamRequest(url).responseStream { _ in }
    session.streamRequest(url).responseStreamDecodable(of: User.self) { _ in }
    session.streamRequest(url).responseStreamString { _ in }
}

private func monitors(_ url: URL) {
    _ = Session(eventMonitors: [
        ClosureEventMonitor(), CompositeEventMonitor(monitors: [ClosureEventMonitor()]), AlamofireNotifications(),
    ])
    _ = AF.request(url).eventMonitor(ClosureEventMonitor())
    _ = Request.didResumeNotification
}

private func configurations(_ foundation: FoundationNetworking.URLSessionConfiguration, _ queue: DispatchQueue) {
    _ = Session(configuration: SessionConfiguration(foundation))
    _ = Session(configuration: .ephemeral, rootQueue: queue, requestQueue: queue, serializationQueue: queue)
    _ = Session()
    _ = Session(configuration: .default)
}

private func errors(_ session: Session, url: URL) async {
    do {
        _ = try await session.request(url).data()
    } catch {
        _ = error.asAFError?.isResponseValidationError
        if case .responseValidationFailed(let reason)? = error.afError,
            case .unacceptableStatusCode(let code) = reason
        {
            print(code)
        }
        if case .sessionTaskFailed(let inside as URLError)? = error.afError { print(inside.code) }
    }
    let response: AFDataResponse<User> = await session.request(url).serializingDecodable(User.self).response
    if let error: AFError = response.error { _ = (error.isExplicitlyCancelledError, error.urlConvertible) }
    let result: AFResult<User> = response.result
    _ = result
}
