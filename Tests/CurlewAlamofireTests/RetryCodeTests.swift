import CurlewAlamofire
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

/// Decisions to retry, by Foundation's error codes.
@Suite(.timeLimit(.minutes(4)))
struct RetryCodeTests {
    private func decision(_ policy: RetryPolicy, _ error: any Error) async -> Bool {
        let session = Session(transport: MockTransport { _ in .text("x") })
        let request = session.request("https://example.org/")
        _ = await request.response()
        return policy.shouldRetry(request: request, dueTo: error)
    }

    private static let some: [URLError.Code] = [
        .timedOut, .networkConnectionLost, .cannotFindHost, .callIsActive, .badURL, .cannotParseResponse,
        .cannotDecodeContentData, .serverCertificateUntrusted, .cancelled, .unsupportedURL,
    ]

    @Test(arguments: some) func defaultRetryableURLErrorCodesAreAlamofires(code: URLError.Code) async {
        let expected = RetryPolicy.defaultRetryableURLErrorCodes.contains(code)
        #expect(await decision(RetryPolicy(), URLError(code)) == expected)
        #expect(await decision(RetryPolicy(), AFError.sessionTaskFailed(error: URLError(code))) == expected)
        #expect(RetryPolicy().retryableURLErrorCodes.contains(code) == expected)
    }

    @Test func onlyConfiguredURLErrorCodesAreRetried() async {
        let policy = RetryPolicy(retryableURLErrorCodes: [.cannotFindHost])
        #expect(await decision(policy, URLError(.cannotFindHost)))
        #expect(await decision(policy, CurlewError(.resolveFailed, phase: .resolve)))
        #expect(!(await decision(policy, URLError(.timedOut))))
        #expect(!(await decision(policy, CurlewError(.idleTimedOut, phase: .receive))))
        #expect(policy.retryableURLErrorCodes == [.cannotFindHost])
    }

    @Test func totalTimeoutIsNotRetried() async {
        let policy = RetryPolicy(retryableURLErrorCodes: [.timedOut])
        #expect(await decision(policy, CurlewError(.firstByteTimedOut, phase: .receive)))
        #expect(!(await decision(policy, CurlewError(.totalTimedOut, phase: .receive))))
    }

    @Test func connectionLostPolicyRetriesLostConnections() async {
        let policy = ConnectionLostRetryPolicy()
        #expect(await decision(policy, URLError(.networkConnectionLost)))
        #expect(!(await decision(policy, URLError(.timedOut))))
        #expect(policy.retryableURLErrorCodes == [.networkConnectionLost])
        #expect(policy.retryableErrorCodes == [.sendFailed, .receiveFailed, .truncated])
        #expect(policy.retryableHTTPStatusCodes.isEmpty)
    }

    @Test func missingNetworkIsRecognizedAsOffline() {
        let isOffline = OfflineRetrier.defaultIsOfflineError
        #expect(isOffline(URLError(.notConnectedToInternet)))
        #expect(!isOffline(URLError(.timedOut)))
        #expect(
            isOffline(
                AFError.requestAdaptationFailed(
                    error: AFError.sessionTaskFailed(error: URLError(.notConnectedToInternet)))))
        #expect(isOffline(CurlewError(.resolveFailed, phase: .resolve)))
        #expect(!isOffline(CancellationError()))
        _ = OfflineRetrier(maximumWait: .seconds(1))
        _ = OfflineRetrier(maximumWait: OfflineRetrier.defaultWait)
    }
}
