import CurlewAlamofire
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// Retriers cannot cause endless loops, and are not asked if another attempt cannot help.
@Suite(.timeLimit(.minutes(4)))
struct RetryBoundTests {
    private static let url = "https://a.example/"

    @Test func endlessRetrierDoesNotLoop() async {
        let times = Recorded<ContinuousClock.Instant>()
        let transport = MockTransport { _ in
            times.note(.now)
            return .status(503)
        }
        let request = Session(transport: transport, interceptor: Curlew.Retrier { _, _, _ in .retry }).request(Self.url)
            .timeouts { $0.total = .seconds(2) }
        await #expect(throws: CurlewError.self) { try await request.data() }
        // One attempt, five immediate retries, and seven more after 10, 20, 40, 80, 160, 320 and 640 ms. On a busy
        // machine an attempt may itself take 50 ms, which counts as a pause: such retries are not counted, and two
        // seconds have room for forty.
        #expect(transport.requests.count <= 53)
        #expect(transport.requests.count >= 2)
        // At most eight retries begin within the shortest pause: five immediate ones, and those after 10, 20 and 40 ms.
        let starts = times.all
        #expect(zip(starts, starts.dropFirst()).count { $1 - $0 < RetryPacing.shortestPause } <= 8)
    }

    @Test func tooManyImmediateRetriesAreAnError() async throws {
        let transport = MockTransport { _ in .status(503) }
        let session = Session(transport: transport)
        let request = session.request(Self.url).retry(using: Curlew.Retrier { _, _, _ in .retry }).validate()
        let run = try Run(request: request, session: session, checksStatus: true, ownsTask: false)
        run.retries.pacing = RetryPacing(immediateRetries: RetryPacing.limit - 1)
        // An awaiting method does this before it runs the request.
        _ = request.beginAwaiting()
        let result = await run.result()
        run.leave()
        #expect(transport.requests.count == 2)
        let error = try #require(result.error)
        #expect(error.code == .retryFailed)
        #expect(error.responseCode == 503)
        #expect(error.isRequestRetryError)
    }

    // MARK: Failures after a redirect

    /// An order that was placed must not be placed again because its page cannot be loaded.
    @Test(arguments: [301, 302, 303])
    func redirectedPOSTIsNotRetried(status: Int) async throws {
        let transport = MockTransport {
            $0.method == .post ? .redirect(to: "/orders/1", status: status) : .status(503)
        }
        let session = Session(transport: transport, interceptor: .retryPolicy)
        let error = await #expect(throws: CurlewError.self) {
            try await session.request(Self.url + "orders", method: .post).data()
        }
        #expect(error?.responseCode == 503)
        #expect(error?.isSafeToRetry == false)
        let accepted = await session.request(Self.url + "orders", method: .post).response()
        #expect(accepted.response?.statusCode == 503)
        #expect(transport.requests.count { $0.method == .post } == 2)
        #expect(transport.requests.count == 4)
    }

    @Test func idempotentRequestIsRetriedAfterRedirect() async throws {
        let transport = MockTransport { $0.url.path == "/" ? .redirect(to: "/b", status: 302) : .status(503) }
        let policy = Curlew.RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0.001)
        _ = try? await Session(transport: transport, interceptor: policy).request(Self.url).data()
        #expect(transport.requests.map(\.url.path) == ["/", "/b", "/", "/b"])
    }

    // MARK: Credentials that a redirect drops

    enum Credential: CaseIterable { case adapter, session, option }

    /// A redirects to B, and B requires credentials that only A may have.
    @Test("a 401 is not retried if the redirect dropped the credentials", arguments: Credential.allCases)
    func unauthorizedIsNotRetriedIfRedirectDroppedCredential(_ credential: Credential) async throws {
        let transport = MockTransport {
            $0.url.host() == "a.example" ? .redirect(to: "https://b.example/") : .status(401)
        }
        let asked = Recorded<Int>()
        let retrier = Curlew.Retrier { _, _, _ in
            asked.note(1)
            return .retry
        }
        let configuration = SessionConfiguration {
            if credential == .session { $0.headers["X-Api-Key"] = "k" }
        }
        let request = Session(configuration: configuration, transport: transport).request(Self.url).retry(
            using: retrier)
        switch credential {
        case .adapter:
            request.adapt(
                using: Curlew.Adapter { request, _ in
                    var request = request
                    request.headers.add(.authorization(bearerToken: "t"))
                    return request
                }
            )
        case .option: request.authenticate(username: "u", password: "p")
        case .session: break
        }
        let response = await request.validate().response()
        #expect(response.error?.responseCode == 401)
        #expect(asked.all.isEmpty)
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [true, false])
    func unauthorizedIsRetriedIfNoCredentialWasDropped(_ isRedirected: Bool) async throws {
        let transport = MockTransport {
            switch ($0.url.host(), isRedirected) {
            // The request has no credential that the redirect could drop.
            case ("a.example", true): .redirect(to: "https://b.example/")
            default: .status(401)
            }
        }
        let retrier = CountingRetrier(retries: 1)
        let request = Session(transport: transport, interceptor: retrier).request(
            Self.url, headers: isRedirected ? [:] : ["Authorization": "Bearer t"])
        #expect(await request.validate().response().error?.responseCode == 401)
        #expect(retrier.calls.all.count == 2)
    }

    // MARK: Accepted statuses

    private static let policy = Curlew.RetryPolicy(exponentialBackoffScale: 0)

    @Test func policyRetriesStatusThatAwaitingMethodAccepts() async throws {
        for status in [429, 503] {
            let transport = MockTransport(collectsBodies: false)
            transport.enqueue(.status(status), .text("second"))
            let session = Session(transport: transport, interceptor: Self.policy)
            let response = await session.request(Self.url).response()
            #expect(response.response?.statusCode == 200)
            transport.enqueue(.status(status), .status(status), .text("third"))
            let request = session.request(Self.url).acceptingAnyStatus()
            #expect(try await request.string() == "third")
            #expect(request.retryCount == 2)
            transport.enqueue(.status(status), .text("handled"))
            let handled = try await session.request(Self.url).serializingString().value
            #expect(handled == "handled")
        }
    }

    @Test func lastResponseIsDeliveredAfterAllRetries() async throws {
        let transport = MockTransport { _ in .text("busy", status: 503) }
        let request = Session(transport: transport, interceptor: Self.policy).request(Self.url)
        let response = await request.response()
        #expect(response.error == nil)
        #expect(response.response?.statusCode == 503)
        #expect(response.data == Data("busy".utf8))
        #expect(request.error == nil)
        #expect(request.retryCount == 2)
        #expect(transport.requests.count == 3)
    }

    @Test func acceptedResponseIsDeliveredIfRetryWouldBeTooLate() async throws {
        let transport = MockTransport { _ in .status(503).header("Retry-After", "30") }
        let request = Session(transport: transport, interceptor: Curlew.RetryPolicy()).request(Self.url)
            .timeouts { $0.total = .seconds(20) }
        let response = await request.response()
        #expect(response.error == nil)
        #expect(response.response?.statusCode == 503)
        #expect(transport.requests.count == 1)
    }

    @Test func acceptedStatusAsksOnlyRetriersThatListIt() async {
        let transport = MockTransport { _ in .status(503) }
        let retrier = CountingRetrier(retries: 3)
        let session = Session(transport: transport, interceptor: retrier)
        #expect(await session.request(Self.url).response().error == nil)
        #expect(retrier.calls.all.isEmpty)
        #expect(await session.request(Self.url, method: .post).retry(using: Self.policy).response().error == nil)
        #expect(transport.requests.count == 2)
        let both = Curlew.Interceptor(interceptors: [retrier, Self.policy])
        #expect(both.retryableHTTPStatusCodes == Curlew.RetryPolicy.defaultRetryableHTTPStatusCodes)
    }

    @Test func downloadedFileIsThatOfTheLastResponse() async throws {
        let transport = MockTransport(collectsBodies: false)
        transport.enqueue(.text("busy", status: 503), .text("whole"))
        let file = FileManager.default.temporaryDirectory.appending(path: "curlew-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let session = Session(transport: transport, interceptor: Self.policy)
        let response = await session.download(Self.url, to: { _, _ in (file, []) }).response()
        #expect(response.error == nil)
        #expect(response.response?.statusCode == 200)
        #expect(try String(contentsOf: file, encoding: .utf8) == "whole")
    }
}
