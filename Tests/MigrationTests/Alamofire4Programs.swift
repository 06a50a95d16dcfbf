import CurlewAlamofire
import CurlewTesting
import Foundation
import Testing

/// Programs in the style of Alamofire 4, with the changes that its migration guide describes.
@Suite(.timeLimit(.minutes(4)))
struct Alamofire4Programs {
    let server: TestServer
    var base: String { server.address }

    init() throws { server = try TestServer() }

    // 26: the free functions.
    @Test func requestsWithAFreeFunction() async throws {
        let fields: [String: Any]? = await completed { done in
            CurlewAlamofire.request("\(base)/get", parameters: ["foo": "bar"]).responseJSON { response in
                done(response.value as? [String: any Sendable])
            }
        }
        #expect((fields?["args"] as? [String: Any])?["foo"] as? String == "bar")
    }

    // 27: a manager with its own header fields.
    @Test func keepsAManager() async throws {
        var defaultHeaders = HTTPHeaders.default
        defaultHeaders["X-App"] = "4"
        let configuration = URLSessionConfiguration.default
        configuration.httpAdditionalHeaders = defaultHeaders.dictionary
        let sessionManager: SessionManager = Session(configuration: configuration)
        _ = await completed { done in sessionManager.request("\(base)/get").responseData { done($0.error) } }
        #expect(server.requests[0].headers["X-App"] == "4")
    }

    // 28: an adapter that throws, and a retrier that answers with a Bool and a delay.
    struct AccessTokenAdapter: RequestInterceptor {
        let accessToken: String
        let baseURL: String

        func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
            var urlRequest = urlRequest
            if let url = urlRequest.url, url.absoluteString.hasPrefix(baseURL) {
                urlRequest.setValue("Bearer " + accessToken, forHTTPHeaderField: "Authorization")
            }
            return urlRequest
        }

        func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
            request.retryCount < 2 ? .retryWithDelay(0.01) : .doNotRetry
        }
    }

    @Test func adaptsAndRetries() async throws {
        server.script("/unsure", .status(500), .status(500), .text("well"))
        let manager = SessionManager(interceptor: AccessTokenAdapter(accessToken: "1234", baseURL: base))
        let text = await completed { done in
            manager.request("\(base)/unsure").validate().responseString { done($0.value) }
        }
        #expect(text == "well")
        #expect(Set(server.requests.map { $0.headers["Authorization"] }) == ["Bearer 1234"])
    }

    // 29: a form whose encoding can fail.
    @Test func uploadsAFormThatCannotBeEncoded() async throws {
        let missing = URL(fileURLWithPath: "/no/such/file.png")
        let error = await completed { done in
            CurlewAlamofire.upload(multipartFormData: { $0.append(missing, withName: "image") }, to: "\(base)/post")
                .response { done($0.error) }
        }
        #expect(error?.isMultipartEncodingError == true)
        #expect(server.requests.isEmpty)
    }

    // 30: a download with the suggested name.
    @Test func downloadsUnderTheSuggestedName() async throws {
        let destination = DownloadRequest.suggestedDownloadDestination(
            for: .cachesDirectory, options: [.removePreviousFile, .createIntermediateDirectories])
        let response = await completed { done in
            CurlewAlamofire.download("\(base)/robots.txt", to: destination).responseData { done($0) }
        }
        #expect(response.fileURL?.lastPathComponent == "robots.txt")
        #expect(response.value == Data("User-agent: *\nDisallow: /deny\n".utf8))
        if let file = response.fileURL { try FileManager.default.removeItem(at: file) }
    }
}
