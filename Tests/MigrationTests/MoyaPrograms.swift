import CurlewAlamofire
import CurlewTesting
import Foundation
import Testing

/// An endpoint layer like Moya's: targets that describe a request, and a provider that sends them.
protocol TargetType {
    var baseURL: URL { get }
    var path: String { get }
    var method: HTTPMethod { get }
    var task: TargetTask { get }
    var headers: [String: String]? { get }
    var validation: Range<Int>? { get }
}

extension TargetType {
    var method: HTTPMethod { .get }
    var task: TargetTask { .requestPlain }
    var headers: [String: String]? { nil }
    var validation: Range<Int>? { 200..<300 }
}

enum TargetTask {
    case requestPlain
    case requestParameters(parameters: [String: any Any & Sendable], encoding: ParameterEncoding)
    case requestJSONEncodable(any Encodable & Sendable)
    case uploadMultipart([(name: String, data: Data)])
    case downloadDestination(DownloadRequest.Destination)
}

struct MoyaProvider<Target: TargetType> {
    var session: Session = .default

    func urlRequest(for target: Target) throws -> URLRequest {
        let url = target.baseURL.appendingPathComponent(target.path)
        let request = try URLRequest(url: url, method: target.method, headers: target.headers.map { HTTPHeaders($0) })
        switch target.task {
        case .requestPlain, .uploadMultipart, .downloadDestination: return request
        case .requestParameters(let parameters, let encoding): return try encoding.encode(request, with: parameters)
        case .requestJSONEncodable(let value):
            return try JSONParameterEncoder.default.encode(ErasedBody(value), into: request)
        }
    }

    @discardableResult
    func request(_ target: Target, completion: @escaping @Sendable (Result<(Int, Data), AFError>) -> Void) -> Request? {
        guard let urlRequest = try? urlRequest(for: target) else { return nil }
        let request: DataRequest
        switch target.task {
        case .uploadMultipart(let parts):
            request = session.upload(
                multipartFormData: { form in for part in parts { form.append(part.data, withName: part.name) } },
                with: urlRequest)
        case .requestPlain, .requestParameters, .requestJSONEncodable, .downloadDestination:
            request = session.request(urlRequest)
        }
        if let range = target.validation { request.validate(statusCode: range) }
        return request.responseData(emptyResponseCodes: [200, 201, 204, 205]) { response in
            completion(response.result.map { (response.response?.statusCode ?? 0, $0) })
        }
    }

    func download(_ target: Target) async throws -> URL {
        guard case .downloadDestination(let destination) = target.task else { throw AFError.explicitlyCancelled }
        return try await session.download(urlRequest(for: target), to: destination)
            .serializingDownloadedFileURL().value
    }

    func value<Value: Decodable & Sendable>(_ target: Target, as type: Value.Type = Value.self) async throws -> Value {
        try await session.request(urlRequest(for: target)).validate().serializingDecodable(type).value
    }
}

struct ErasedBody: Encodable, Sendable {
    private let body: any Encodable & Sendable

    init(_ body: any Encodable & Sendable) { self.body = body }

    func encode(to encoder: any Encoder) throws { try body.encode(to: encoder) }
}

/// Programs that use this layer.
@Suite(.timeLimit(.minutes(4)))
struct MoyaPrograms {
    enum Service: TargetType {
        case zen(URL)
        case search(URL, String)
        case create(URL, Item)
        case avatar(URL, Data)
        case archive(URL, DownloadRequest.Destination)

        var baseURL: URL {
            switch self {
            case .zen(let url), .search(let url, _), .create(let url, _), .avatar(let url, _), .archive(let url, _):
                return url
            }
        }

        var path: String {
            switch self {
            case .zen: return "/zen"
            case .search: return "/search"
            case .create: return "/items"
            case .avatar: return "/avatar"
            case .archive: return "/bytes/500"
            }
        }

        var method: HTTPMethod {
            switch self {
            case .zen, .search, .archive: return .get
            case .create, .avatar: return .post
            }
        }

        var task: TargetTask {
            switch self {
            case .zen: return .requestPlain
            case .search(_, let text):
                return .requestParameters(parameters: ["q": text], encoding: URLEncoding.queryString)
            case .create(_, let item): return .requestJSONEncodable(item)
            case .avatar(_, let data): return .uploadMultipart([("avatar", data)])
            case .archive(_, let destination): return .downloadDestination(destination)
            }
        }

        var headers: [String: String]? { ["Accept": "application/json"] }
    }

    let server: TestServer
    let provider = MoyaProvider<Service>()

    init() throws { server = try TestServer() }

    // 36
    @Test func asksForATarget() async throws {
        server.route("/zen") { _ in .text("Keep it logically awesome.") }
        let result = await completed { done in provider.request(.zen(server.url)) { done($0) } }
        let (status, data) = try result.get()
        #expect(status == 200)
        #expect(String(decoding: data, as: UTF8.self) == "Keep it logically awesome.")
        #expect(server.requests[0].headers["Accept"] == "application/json")
    }

    // 37
    @Test func encodesParameters() async throws {
        server.route("/search") { request in .json([Item(name: request.queryValue("q") ?? "")]) }
        let items = try await provider.value(.search(server.url, "ada & co"), as: [Item].self)
        #expect(items.map(\.name) == ["ada & co"])
    }

    // 38
    @Test func sendsAValueAndMapsTheFailure() async throws {
        server.route("/items", methods: [.post]) { request in
            request.bodyText?.contains("Ada") == true ? .status(422) : .status(201)
        }
        let result = await completed { done in provider.request(.create(server.url, Item())) { done($0) } }
        guard case .failure(let error) = result else {
            Issue.record("no error")
            return
        }
        #expect(error.responseCode == 422)
        let second = await completed { done in
            provider.request(.create(server.url, Item(name: "Grace"))) { done($0) }
        }
        #expect(try second.get().0 == 201)
    }

    // 39: stubs.
    @Test func isStubbed() async throws {
        let stub = MockTransport { request in request.path == "/zen" ? .text("stubbed") : .status(404) }
        let provider = MoyaProvider<Service>(session: Session(transport: stub))
        let base = try #require(URL(string: "https://api.example.com"))
        let result = await completed { done in provider.request(.zen(base)) { done($0) } }
        #expect(try String(decoding: result.get().1, as: UTF8.self) == "stubbed")
        #expect(stub.requests.count == 1)
    }

    // 40: uploads, downloads and a plugin.
    final class CountingPlugin: EventMonitor {
        let queue = DispatchQueue(label: "plugin")
        let willSend = Gate()

        func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) { willSend.open() }
    }

    @Test func uploadsDownloadsAndWatches() async throws {
        server.route("/avatar", methods: [.post]) { _ in .status(201) }
        let scratch = try ScratchDirectory()
        let plugin = CountingPlugin()
        let provider = MoyaProvider<Service>(session: Session(eventMonitors: [plugin]))
        let result = await completed { done in
            provider.request(.avatar(server.url, Data("pixels".utf8))) { done($0) }
        }
        #expect(try result.get().0 == 201)
        #expect(server.requests[0].multipartParts.map(\.name) == ["avatar"])
        let file = try await provider.download(.archive(server.url, { _, _ in (scratch.file("archive"), []) }))
        #expect(try Data(contentsOf: file).count == 500)
        try await plugin.willSend.wait()
    }
}
