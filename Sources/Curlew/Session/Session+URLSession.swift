public import CurlewCore
public import Foundation
public import FoundationNetworking

// The `async` methods of URLSession, so that code for `URLSession.shared` works with `Session.default`. As there, no
// status is an error; the methods throw if the exchange failed.
extension Session {
    /// Returns the body and the response, for any status.
    public nonisolated func data(for request: URLRequest) async throws(CurlewError) -> (Data, URLResponse) {
        try await self.request(request).dataAndHead()
    }

    /// Returns the body and the response, for any status.
    public nonisolated func data(from url: URL) async throws(CurlewError) -> (Data, URLResponse) {
        try await request(url).dataAndHead()
    }

    /// Sends bytes and returns the response, for any status.
    public nonisolated func upload(
        for request: URLRequest,
        from bodyData: Data
    ) async throws(CurlewError) -> (Data, URLResponse) {
        try await upload(bodyData, with: request).dataAndHead()
    }

    /// Sends a file and returns the response, for any status.
    public nonisolated func upload(
        for request: URLRequest,
        fromFile fileURL: URL
    ) async throws(CurlewError) -> (Data, URLResponse) {
        try await upload(fileURL, with: request).dataAndHead()
    }

    /// Downloads the body to a temporary file, for any status. You have to remove the file.
    public nonisolated func download(for request: URLRequest) async throws(CurlewError) -> (URL, URLResponse) {
        try await download(request).fileAndHead()
    }

    /// Downloads the body to a temporary file, for any status. You have to remove the file.
    public nonisolated func download(from url: URL) async throws(CurlewError) -> (URL, URLResponse) {
        try await download(url).fileAndHead()
    }

    /// Continues an earlier download.
    public nonisolated func download(resumeFrom resumeData: Data) async throws(CurlewError) -> (URL, URLResponse) {
        try await download(resumingWith: resumeData).fileAndHead()
    }

    /// Returns the bytes of the body while it arrives, for any status. Releasing them cancels the request.
    public nonisolated func bytes(for request: URLRequest) async throws(CurlewError) -> (StreamBytes, URLResponse) {
        let stream = streamRequest(request).acceptingAnyStatus()
        let bytes = StreamBytes(of: stream)
        _ = try await stream.head()
        return (bytes, try stream.response.orMissing())
    }

    /// Returns the bytes of the body while it arrives, for any status. Releasing them cancels the request.
    public nonisolated func bytes(from url: URL) async throws(CurlewError) -> (StreamBytes, URLResponse) {
        try await bytes(for: URLRequest(url: url))
    }
}

extension DataRequest {
    fileprivate func dataAndHead() async throws(CurlewError) -> (Data, URLResponse) {
        let response = await response()
        return (try response.result.get() ?? Data(), try response.response.orMissing())
    }
}

extension DownloadRequest {
    fileprivate func fileAndHead() async throws(CurlewError) -> (URL, URLResponse) {
        let response = await response()
        guard let url = try response.result.get() else { throw Self.nothing }
        return (url, try response.response.orMissing())
    }

    private static var nothing: CurlewError {
        CurlewError(.internal, phase: .receive, reason: "A download without an error has no file.")
    }
}

extension HTTPURLResponse? {
    fileprivate func orMissing() throws(CurlewError) -> URLResponse {
        if let self { return self }
        throw CurlewError(.internal, phase: .receive, reason: "An exchange without an error has no response.")
    }
}
