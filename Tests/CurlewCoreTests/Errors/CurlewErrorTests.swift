internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Errors and redaction", .timeLimit(.minutes(4)))
struct CurlewErrorTests {
    @Test("codes are unique, and their descriptions are their raw values")
    func codes() {
        let all = CurlewError.Code.allKnown
        #expect(Set(all).count == all.count)
        #expect(all.count == 52)
        #expect(all.allSatisfy { $0.description == $0.rawValue && !$0.rawValue.isEmpty })
    }

    @Test("the properties that classify an error follow from its code", arguments: CurlewError.Code.allKnown)
    func questions(code: CurlewError.Code) {
        let error = CurlewError(code, phase: .connect)
        #expect(error.isTimeout == code.rawValue.hasSuffix("TimedOut"))
        #expect(error.isCancellation == (code == .cancelled))
        let tls: [CurlewError.Code] = [
            .tlsFailed, .certificateExpired, .certificateHostMismatch, .certificateUntrusted, .certificateRevoked,
            .clientCertificateRequired,
        ]
        #expect(error.isTLS == tls.contains(code))
        let connectivity: [CurlewError.Code] = [
            .resolveFailed, .connectFailed, .proxyFailed, .sendFailed, .receiveFailed, .truncated, .connectTimedOut,
        ]
        #expect(error.isConnectivity == connectivity.contains(code))
        #expect(code ~= error && !(code ~= CancellationError()))
    }

    @Test("an error keeps its properties and redacts its URL, and copies are independent")
    func properties() {
        var error = CurlewError(.truncated, phase: .receive)
        error.url = URL(string: "https://user:secret@x.test/p?token=abc&flag#f")
        error.attempt = 2
        error.underlying = CancellationError()
        error.native = .init(number: 18, name: "CURLE_PARTIAL_FILE")
        error.metrics = TransferMetrics(queued: .distantPast, ended: .distantPast)
        error.responseCode = 200
        error.responseBody = Data([1])
        error.isSafeToRetry = true
        let copy = error
        error.attempt = 3
        #expect(copy.attempt == 2 && error.attempt == 3)
        #expect(copy.url?.absoluteString == "https://x.test/p?token=_&_#_")
        #expect(copy.underlying is CancellationError && copy.metrics?.duration == 0)
        #expect(copy.responseBody == Data([1]) && copy.isSafeToRetry)
        #expect(
            copy.description
                == "truncated (phase receive, https://x.test/p?token=_&_#_, attempt 3, status 200, 18 CURLE_PARTIAL_FILE)"
        )
    }

    @Test("the error of an unsupported feature names the feature and its requirement")
    func unsupported() {
        let error = CurlewError.unsupported(feature: "HTTP/3", needs: "libcurl with nghttp3")
        #expect(
            error.code == .unsupported
                && "\(error)" == "unsupported: HTTP/3 needs libcurl with nghttp3 (phase creation)")
    }
}
