import CurlewAlamofire
import CurlewTesting
import Foundation
import Testing

/// Behaviour that code written for Alamofire relies on.
@Suite(.timeLimit(.minutes(4)))
struct MigratedCodeTests {
    @Test func alamofireCallSitesCompile() async throws {
        let session = Session(transport: MockTransport { _ in .text("{\"a\": 1}", type: "text/json") })
        let url = "https://example.org/"
        let none = await session.request(url).validate(statusCode: []).serializingData().response
        #expect(none.error?.code == .unacceptableStatus)
        let types = await session.request(url).validate(contentType: []).serializingData().response
        #expect(types.error?.responseContentType == "text/json")
        #expect(types.error?.acceptableContentTypes == [])
        _ = session.request(url, method: .post, parameters: ["a": "b"], encoder: .json, interceptor: .deflateCompressor)
        _ = session.request(url, parameters: ["a": "b"], encoder: .urlEncodedForm, interceptor: .retryPolicy)
        _ = session.request(url, interceptor: .connectionLostRetryPolicy(retryLimit: 1))
        _ = session.request(url, interceptor: .deflateCompressor { _ in false })
        _ = session.request(url, interceptor: .interceptor(adapters: [], retriers: []))
        _ = session.request(url) { $0.timeoutInterval = 1 }.redirect(using: .doNotFollow)
        #expect(try await session.request(url).serializingResponse(using: .string).value == "{\"a\": 1}")
        let scratch = try ScratchDirectory()
        let download = session.download(url, to: { _, _ in (scratch.file("a"), []) })
        #expect(try await download.serializingDownload(using: .data).value.count == 8)
        #expect(try await session.request(url).serializingDecodable([String: Int].self).value == ["a": 1])
    }

    @Test(arguments: ["invalid", "/a/path", "ftp://example.org/"])
    func unsupportedURLIsASessionTaskError(url: String) async {
        let response = await Session().request(url).serializingData().response
        #expect(response.request?.url?.absoluteString == url)
        #expect(response.error?.isSessionTaskError == true)
        #expect((response.error?.underlyingError as? URLError)?.code == .unsupportedURL)
    }

    @Test func timeoutHasURLErrorAsUnderlyingError() async throws {
        let server = try TestServer()
        let response = await Session().request(server.url("/delay/5")) { $0.timeoutInterval = 0.01 }
            .serializingData().response
        #expect(response.error?.isTimeout == true)
        #expect((response.error?.underlyingError as? URLError)?.code == .timedOut)
        #expect(response.error?.underlying == nil)
    }

    @Test func formMayBeFilledInAsURLRequest() async throws {
        struct Late: URLRequestConvertible {
            let form = MultipartFormData(boundary: "b")
            let url: URL

            func asURLRequest() throws -> URLRequest {
                form.append(Data("Ada".utf8), withName: "name")
                return try URLRequest(url: url, method: .post)
            }
        }
        struct Echo: Decodable, Sendable { let form: [String: String] }
        let server = try TestServer()
        let description = Late(url: server.url("/post"))
        let request = Session().upload(multipartFormData: description.form, with: description)
        #expect(try await request.decode(Echo.self).form == ["name": "Ada"])
    }

    @Test func retriedFormSendsTheSameBody() async throws {
        let server = try TestServer()
        server.script("/flaky", .status(503), .text("well"))
        let request = Session(interceptor: Retrier { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry })
            .upload(multipartFormData: { $0.append(Data("Ada".utf8), withName: "name") }, to: server.url("/flaky"))
            .validate()
        #expect(try await request.string() == "well")
        let bodies = server.requests.map(\.body)
        #expect(bodies.count == 2 && bodies[0] == bodies[1])
        #expect(!bodies[0].isEmpty)
    }

    @Test func aValidationCanReadTheDownloadedFile() async throws {
        struct Unread: Error {}
        let server = try TestServer()
        let request = Session().download(server.url("/bytes/10"))
        request.validate { [unowned request] _, _, file in
            guard let seen = request.fileURL, seen == file, (try? Data(contentsOf: seen))?.count == 10 else {
                return .failure(Unread())
            }
            return .success(())
        }
        let url = try await request.file()
        defer { try? FileManager.default.removeItem(at: url) }
        #expect(request.fileURL == url)
    }

    @Test func aSubclassOfARetryPolicyMayOverrideEitherForm() async throws {
        // SAFETY: neither subclass adds a stored property.
        final class Old: RetryPolicy, @unchecked Sendable {
            override func retry(
                _ request: Request,
                for session: Session,
                dueTo error: any Error,
                completion: @escaping @Sendable (RetryResult) -> Void
            ) {
                completion(request.retryCount == 0 ? .retry : .doNotRetry)
            }
        }
        // SAFETY: see above.
        final class New: RetryPolicy, @unchecked Sendable {
            override func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
                request.retryCount == 0 ? .retry : .doNotRetry
            }
        }
        for policy in [Old(), New()] {
            let transport = MockTransport(collectsBodies: false)
            transport.enqueue(.status(404), .status(404))
            let request = Session(transport: transport, interceptor: policy).request("https://example.org/").validate()
            _ = await request.serializingData().response
            #expect(request.retryCount == 1)
        }
    }

    @Test func interceptorOfSynchronousAdaptersIsSynchronous() throws {
        let session = Session(transport: MockTransport { _ in .text("x") })
        let interceptor = Interceptor(adapters: [
            Adapter { request, _, completion in
                var request = request
                request.headers["X"] = "1"
                completion(.success(request))
            }
        ])
        let results = Recorded<URLRequest?>()
        let urlRequest = try URLRequest(url: "https://example.org/", method: .get)
        let state = RequestAdapterState(requestID: UUID(), session: session)
        interceptor.adapt(urlRequest, using: state) { results.note(try? $0.get()) }
        #expect(results.all.first??.headers["X"] == "1")
    }

    @Test func everyFailingSerializerAsksTheRetrier() async throws {
        let transport = MockTransport { _ in .text("no", status: 401) }
        let asked = Recorded<Int>()
        let retrier = Retrier { _, _, _, completion in
            asked.note(1)
            completion(asked.all.count == 1 ? .retry : .doNotRetry)
        }
        let request = Session(transport: transport).request("https://example.org/", interceptor: retrier).validate()
        let response = await request.serializingDecodable([Int].self).response
        #expect(response.error?.isResponseValidationError == true)
        #expect(asked.all.count == 3)
        #expect(request.retryCount == 1)
    }
}
