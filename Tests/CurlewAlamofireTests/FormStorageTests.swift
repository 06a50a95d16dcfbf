import CurlewAlamofire
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

/// The effect of `usingThreshold` in files that import CurlewAlamofire.
@Suite(.timeLimit(.minutes(4)))
struct FormStorageTests {
    private let session = Session()

    private func fill(_ form: MultipartFormData) {
        form.append(Data("ada".utf8), withName: "name")
        form.append(Data(count: 1000), withName: "file", fileName: "a", mimeType: "application/octet-stream")
    }

    /// Expects that the server received the form, whether it was stored in memory or in a file.
    private func check(_ server: TestServer, has form: MultipartFormData) throws {
        let last = try #require(server.requests.last)
        #expect(last.body == (try form.encode()))
        #expect(last.headers["Content-Length"] == "\(last.body.count)")
        #expect(last.headers["Content-Type"] == form.contentType)
    }

    @Test func shortFormIsSentFromMemory() async throws {
        let server = try TestServer()
        let form = MultipartFormData()
        fill(form)
        let requests = [
            session.upload(multipartFormData: form, to: server.url("/anything")),
            session.upload(multipartFormData: form, with: try URLRequest(url: server.url("/anything"), method: .post)),
            session.upload(multipartFormData: form, to: server.url("/anything"), usingThreshold: .max),
        ]
        for request in requests {
            _ = try await request.data()
            guard case .data(let data)? = request.uploadable else {
                Issue.record("not in memory: \(String(describing: request.uploadable))")
                continue
            }
            #expect(data == (try form.encode()))
            try check(server, has: form)
        }
    }

    @Test func shortFormOfFreeFunctionIsSentFromMemory() async throws {
        let server = try TestServer()
        let request = CurlewAlamofire.upload(multipartFormData: fill, to: server.url("/anything"))
        _ = try await request.data()
        guard case .data(let data)? = request.uploadable else {
            Issue.record("not in memory: \(String(describing: request.uploadable))")
            return
        }
        #expect(server.requests.last?.body == data)
    }

    @Test func formAboveItsThresholdIsInAPrivateFile() async throws {
        let server = try TestServer()
        let form = MultipartFormData()
        fill(form)
        let request = session.upload(multipartFormData: form, to: server.url("/hang"), usingThreshold: 1003)
        let handle = request.serializingData()
        try await server.waitForRequests(count: 1)
        guard case .file(let file, shouldRemove: true)? = request.uploadable else {
            Issue.record("not in a file: \(String(describing: request.uploadable))")
            return
        }
        #expect(try Data(contentsOf: file) == form.encode())
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        request.cancel()
        #expect(await handle.response.error?.isExplicitlyCancelledError == true)
        try await eventually { !FileManager.default.fileExists(atPath: file.path) }
    }

    /// The file of a form that was encoded before the start is removed when the request is cancelled.
    @Test func aRequestThatWasNeverStartedLeavesNoFile() async throws {
        let session = Session(transport: MockTransport { _ in .text("x") }, requestSetup: .eager)
        let request = session.upload(multipartFormData: fill, to: "https://example.org/", usingThreshold: 1003)
        try await eventually { request.uploadable != nil }
        guard case .file(let file, shouldRemove: true)? = request.uploadable else {
            Issue.record("not in a file: \(String(describing: request.uploadable))")
            return
        }
        #expect(FileManager.default.fileExists(atPath: file.path))
        request.cancel()
        // The file is removed although the request's handle still exists.
        try await eventually { !FileManager.default.fileExists(atPath: file.path) }
        withExtendedLifetime(request) {}
    }

    /// A stored form can be sent any number of times.
    @Test func aStoredFormIsSentAgain() async throws {
        let server = try TestServer()
        let form = MultipartFormData()
        fill(form)
        let url = server.url("/redirect-to?url=/anything&status_code=307")
        for threshold: UInt64 in [0, .max] {
            _ = try await session.upload(multipartFormData: form, to: url, usingThreshold: threshold).data()
            try check(server, has: form)
        }
        #expect(server.requestCount == 4)
    }

    @Test func withoutAThresholdALongFormIsStreamed() async throws {
        let server = try TestServer()
        let long = Int(MultipartFormData.encodingMemoryThreshold)
        let request = session.upload(
            multipartFormData: { $0.append(Data(count: long), withName: "a") }, to: server.url("/anything"))
        _ = try await request.data()
        guard case .stream(_, let length?)? = request.uploadable else {
            Issue.record("not streamed: \(String(describing: request.uploadable))")
            return
        }
        #expect(length > Int64(long))
    }

    /// A form with a stream is not encoded ahead: waiting for the stream's last bytes would block a thread.
    @Test func aFormWithAStreamIsStreamed() async throws {
        let server = try TestServer()
        for threshold: UInt64 in [0, .max] {
            let request = session.upload(
                multipartFormData: { form in
                    form.append(
                        InputStream(data: Data("abc".utf8)), withLength: 3, name: "a", fileName: "a",
                        mimeType: "text/plain")
                },
                to: server.url("/anything"), usingThreshold: threshold)
            _ = try await request.data()
            guard case .stream? = request.uploadable else {
                Issue.record("not streamed: \(String(describing: request.uploadable))")
                return
            }
        }
    }

    @Test(arguments: [0, UInt64.max]) func aPartThatCannotBeReadIsAnError(threshold: UInt64) async throws {
        let scratch = try ScratchDirectory()
        let part = scratch.file("part")
        try Data(count: 10).write(to: part)
        let form = MultipartFormData()
        form.append(part, withName: "a", fileName: "a", mimeType: "text/plain")
        try FileManager.default.removeItem(at: part)
        let request = session.upload(multipartFormData: form, to: "http://127.0.0.1:1/", usingThreshold: threshold)
        let error = await request.serializingData().response.error
        #expect(error?.reason.contains(part.path) == true, "\(String(describing: error))")
        #expect(request.uploadable == nil)
    }

    /// A command line shows the parts of a form only if it may show credentials.
    @Test func cURLDescriptionHidesFormParts() async throws {
        let session = Session(transport: MockTransport { _ in .text("x") })
        let request = session.upload(
            multipartFormData: { $0.append(Data("hunter2".utf8), withName: "password") }, to: "https://example.org/")
        _ = await request.serializingData().response
        for text in [request.cURLDescription(), request.cURLDescription(includingCredentials: false)] {
            #expect(text.contains("--data-binary @-") && !text.contains("hunter2"))
        }
        #expect(request.cURLDescription(includingCredentials: true).contains("hunter2"))
    }
}
