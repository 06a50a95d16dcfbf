import CurlewAlamofire
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

/// Alamofire 4's functions send the same requests as the session's methods of the same names.
@Suite(.timeLimit(.minutes(4)))
struct FreeFunctionTests {
    struct Name: Codable, Sendable { var name = "Ada" }

    private func put(_ server: TestServer) -> URLRequest {
        var request = URLRequest(url: server.url("/anything"))
        request.httpMethod = "PUT"
        return request
    }

    /// The method, the path with its query and the body of each received request, one line per request.
    private func seen(_ server: TestServer) -> [String] {
        server.requests.map { "\($0.method) \($0.target) \($0.bodyText ?? "")".trimmingCharacters(in: .whitespaces) }
    }

    @Test func requestFunctionsSendTheirRequests() async throws {
        let server = try TestServer()
        let url = server.url("/anything")
        let marked: HTTPHeaders = ["X-Mark": "yes"]
        let all = [
            CurlewAlamofire.request(url, parameters: ["name": "Ada"], headers: marked),
            CurlewAlamofire.request(
                url, method: .post, parameters: Name(), encoder: JSONParameterEncoder.default, headers: marked),
            CurlewAlamofire.request(url, method: .delete, headers: marked) { $0.timeoutInterval = 5 },
        ]
        for request in all { #expect(await request.serializingData().response.error == nil) }
        #expect(try await CurlewAlamofire.request(put(server)).serializingData().value.isEmpty == false)
        #expect(
            seen(server) == [
                "GET /anything?name=Ada", "POST /anything {\"name\":\"Ada\"}", "DELETE /anything", "PUT /anything",
            ])
        #expect(server.requests.map { $0.headers["X-Mark"] } == ["yes", "yes", "yes", nil])
    }

    @Test func downloadFunctionsSendTheirRequests() async throws {
        let server = try TestServer()
        let scratch = try ScratchDirectory()
        let url = server.url("/anything")
        var names: [String] = []
        func destination(_ name: String) -> DownloadRequest.Destination {
            names.append(name)
            let file = scratch.file(name)
            return { _, _ in (file, []) }
        }
        let all = [
            CurlewAlamofire.download(url, parameters: ["name": "Ada"], to: destination("a")),
            CurlewAlamofire.download(url, method: .post, parameters: Name(), to: destination("b")),
            CurlewAlamofire.download(put(server), to: destination("c")),
        ]
        for (request, name) in zip(all, names) {
            #expect(try await request.serializingDownloadedFileURL().value.lastPathComponent == name)
        }
        #expect(seen(server) == ["GET /anything?name=Ada", "POST /anything name=Ada", "PUT /anything"])
        let broken = await CurlewAlamofire.download(resumingWith: Data("?".utf8)).serializingData().response
        #expect(broken.error != nil)
        #expect(server.requests.count == 3)
    }

    @Test func uploadFunctionsSendTheirRequests() async throws {
        let server = try TestServer()
        let scratch = try ScratchDirectory()
        let url = server.url("/anything")
        let file = scratch.file("body")
        try Data("file".utf8).write(to: file)
        func pieces(_ text: String) -> AsyncStream<Data> {
            AsyncStream { continuation in
                for character in text { continuation.yield(Data(String(character).utf8)) }
                continuation.finish()
            }
        }
        let all = [
            CurlewAlamofire.upload(Data("data".utf8), to: url),
            CurlewAlamofire.upload(Data("data".utf8), with: put(server)),
            CurlewAlamofire.upload(file, to: url),
            CurlewAlamofire.upload(file, with: put(server)),
            CurlewAlamofire.upload(InputStream(data: Data("stream".utf8)), to: url),
            CurlewAlamofire.upload(InputStream(data: Data("stream".utf8)), with: put(server)),
            CurlewAlamofire.upload(pieces("pieces"), to: url),
            CurlewAlamofire.upload(pieces("pieces"), with: put(server)),
        ]
        for request in all { _ = await request.serializingData().response.error.map { Issue.record($0) } }
        let bodies = ["data", "file", "stream", "pieces"]
        // The requests run concurrently, so their order varies.
        #expect(seen(server).sorted() == bodies.flatMap { ["POST /anything \($0)", "PUT /anything \($0)"] }.sorted())
    }

    @Test func formUploadFunctionsSendTheirRequests() async throws {
        let server = try TestServer()
        let url = server.url("/anything")
        let fill: (MultipartFormData) -> Void = { $0.append(Data("Ada".utf8), withName: "name") }
        let all = [
            CurlewAlamofire.upload(multipartFormData: fill, to: url),
            CurlewAlamofire.upload(multipartFormData: fill, with: put(server)),
        ]
        struct Echo: Decodable, Sendable { let form: [String: String] }
        for request in all { #expect(try await request.serializingDecodable(Echo.self).value.form == ["name": "Ada"]) }
        #expect(server.requests.map(\.method).sorted() == ["POST", "PUT"])
    }

    @Test func streamFunctionsSendTheirRequests() async throws {
        let server = try TestServer()
        let url = server.url("/anything")
        let all = [
            CurlewAlamofire.streamRequest(url, parameters: Name()),
            CurlewAlamofire.streamRequest(url, method: .delete),
            CurlewAlamofire.streamRequest(put(server)),
        ]
        for request in all {
            var count = 0
            for try await chunk in request.chunks { count += chunk.count }
            #expect(count > 0)
        }
        #expect(seen(server).sorted() == ["DELETE /anything", "GET /anything?name=Ada", "PUT /anything"])
    }

    /// The functions need no module name if nothing else has their names.
    @Test func freeFunctionsNeedNoModuleName() async throws {
        let server = try TestServer()
        #expect(try await request(server.url("/anything")).data().isEmpty == false)
        #expect(try await Session.default.request(server.url("/anything")).data().isEmpty == false)
        #expect(seen(server) == ["GET /anything", "GET /anything"])
    }

    @Test func afIsTheDefaultSession() { #expect(AF === Session.default) }
}
