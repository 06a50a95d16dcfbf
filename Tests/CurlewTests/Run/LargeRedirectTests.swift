import CurlewCore
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

/// Redirects and challenges whose bodies are larger than any explanation.
@Suite("Large bodies of redirects", .timeLimit(.minutes(4)))
struct LargeRedirectTests {
    private static let piece = Data(repeating: 7, count: 700_000)

    private static func large(_ status: Int, pieces: Int = 3) -> MockResponse {
        let headers: HTTPHeaders = status == 401 ? ["WWW-Authenticate": "Basic"] : ["Location": "/next"]
        return MockResponse(status: status, headers: headers, body: Array(repeating: .bytes(piece), count: pieces))
    }

    private let transport = MockTransport { $0.path == "/" ? large(302) : .text("there") }
    private let url = "https://example.org/"

    enum Form: CaseIterable {
        case data, download, stream

        func body(of url: String, in session: Session, _ change: (Request) -> Void = { _ in }) async throws -> Data {
            switch self {
            case .data:
                let request = session.request(url).acceptingAnyStatus()
                change(request)
                return try await request.data()
            case .download:
                let scratch = try ScratchDirectory()
                let request = session.download(url, to: destination(scratch.file("a"))).acceptingAnyStatus()
                change(request)
                return try Data(contentsOf: try await request.file())
            case .stream:
                let request = session.streamRequest(url).acceptingAnyStatus()
                change(request)
                var body = Data()
                for try await chunk in request.chunks { body += chunk }
                return body
            }
        }
    }

    @Test("are no reason not to follow them", arguments: Form.allCases)
    func followed(_ form: Form) async throws {
        #expect(try await form.body(of: url, in: Session(transport: transport)) == Data("there".utf8))
        let asked = Session(transport: transport, redirectHandler: .follow)
        #expect(try await form.body(of: url, in: asked) == Data("there".utf8))
    }

    @Test("are complete where they are not followed", arguments: Form.allCases)
    func notFollowed(_ form: Form) async throws {
        let whole = Data(repeating: 7, count: 2_100_000)
        let session = Session(transport: transport, redirectHandler: .doNotFollow)
        #expect(try await form.body(of: url, in: session) == whole)
        let own = try await form.body(of: url, in: Session(transport: transport)) { $0.redirect(using: .doNotFollow) }
        #expect(own == whole)
    }

    @Test("are bounded by maximumBodySize", arguments: Form.allCases, [true, false])
    func bounded(_ form: Form, isFollowed: Bool) async throws {
        let session = Session(
            configuration: SessionConfiguration { $0.maximumBodySize = 2_000_000 }, transport: transport,
            redirectHandler: isFollowed ? .follow : .doNotFollow)
        let error = await #expect(throws: CurlewError.self) { try await form.body(of: url, in: session) }
        #expect(error?.code == .limitExceeded)
    }

    @Test("a challenge's is complete where it is the response")
    func challenge() async throws {
        let configuration = SessionConfiguration {
            var hooks = SessionHooks()
            hooks.challenge = { _ in .deliver }
            $0.hooks = hooks
        }
        let session = Session(configuration: configuration, transport: MockTransport { _ in Self.large(401) })
        let response = await session.request(url).response()
        #expect(response.error == nil)
        #expect(response.data?.count == 2_100_000)
    }

    @Test("a handler that comes when the body has come gets no part of it for the whole")
    func lateHandler() async throws {
        let gate = Gate()
        let transport = MockTransport { _ in
            var response = Self.large(302)
            response.body.append(.wait(gate))
            return response
        }
        let request = Session(transport: transport).request(url)
        let response = Task { await request.response() }
        try await gate.waitForArrivals(count: 1)
        request.redirect(using: .doNotFollow)
        gate.open()
        #expect(await response.value.error?.code == .limitExceeded)
    }
}
