import CurlewCore
import Foundation
import Glibc
import Testing

@testable import CurlewTransport

@Suite("Errors made from libcurl's results")
struct TransferFailureTests {
    /// libcurl may make another connection for a request that was sent, because the server closed the reused one
    /// without a response. libcurl's timeout is the connect timeout then, too.
    @Test func timeoutReportedByLibcurlIsConnectTimeout() throws {
        try withEngineParts { parts in
            let (transfer, easy) = try parts.prepared("http://a.example/")
            transfer.attach(to: easy)
            transfer.clocks.enqueued(at: parts.transfers.now)
            transfer.clocks.connectionStarted(at: parts.transfers.now)
            let connecting = transfer.error(forCurlResult: 28, easy)
            #expect(connecting.code == .connectTimedOut)
            transfer.clocks.requestSent(at: parts.transfers.now)
            let again = transfer.error(forCurlResult: 28, easy)
            #expect(again.code == .connectTimedOut)
            #expect(again.phase == .connect)
            #expect(again.native?.number == 28)
        }
    }

    /// The system does not support the family of one of the host's addresses, and the other one refuses the connection.
    @Test(arguments: [false, true]) func addressWithoutSocketDoesNotHideTheOtherFailure(isLast: Bool) throws {
        try withEngineParts { parts in
            let (transfer, easy) = try parts.prepared("http://a.example/")
            transfer.attach(to: easy)
            if isLast { transfer.connection.socketOpened(-1) }
            transfer.connection.socketFailed(EAFNOSUPPORT)
            if !isLast { transfer.connection.socketOpened(-1) }
            #expect(transfer.error(forCurlResult: 7, easy).native?.number == 7)
            transfer.connection.socketFailed(EMFILE)
            #expect(transfer.error(forCurlResult: 7, easy).native?.name == "EMFILE")
        }
    }

    @Test(arguments: [false, true]) func refusedAddressTakesPrecedenceOverMissingSocket(hasSocketError: Bool) throws {
        try withEngineParts { parts in
            let (transfer, easy) = try parts.prepared("http://a.example/")
            transfer.attach(to: easy)
            transfer.connection.refusedAddress = "10.0.0.1"
            if hasSocketError { transfer.connection.socketFailed(EAFNOSUPPORT) }
            let failure = transfer.error(forCurlResult: 7, easy)
            #expect(failure.code == .addressRefused)
            #expect(failure.native?.number == (hasSocketError ? Int(EAFNOSUPPORT) : 7))
        }
    }

    /// libcurl's result is only a consequence of the failure that Curlew has recorded.
    @Test func recordedFailureTakesPrecedenceOverLibcurls() throws {
        try withEngineParts { parts in
            let (transfer, easy) = try parts.prepared("http://a.example/")
            transfer.attach(to: easy)
            transfer.connection.refusedAddress = "10.0.0.1"
            transfer.failure = CurlewError(.limitExceeded, phase: .receive, reason: "too much")
            let failure = transfer.error(forCurlResult: 7, easy)
            #expect(failure.code == .limitExceeded && failure.phase == .receive)
            #expect(failure.native?.number == 7)
            #expect(!failure.isSafeToRetry)
        }
    }

    @Test func missingSocketForEveryAddressIsReported() throws {
        try withEngineParts { parts in
            let (transfer, easy) = try parts.prepared("http://a.example/")
            transfer.attach(to: easy)
            transfer.connection.socketFailed(EAFNOSUPPORT)
            #expect(transfer.error(forCurlResult: 7, easy).native?.number == Int(EAFNOSUPPORT))
        }
    }

    @Test(
        arguments: [
            (42, "sslv3 alert bad certificate"), (43, "sslv3 alert unsupported certificate"),
            (44, "sslv3 alert certificate revoked"), (45, "sslv3 alert certificate expired"),
            (46, "sslv3 alert certificate unknown"), (48, "tlsv1 alert unknown ca"),
            (116, "tlsv13 alert certificate required"),
        ] as [(Int32, String)])
    func clientCertificateAlertIsRecognized(_ number: Int32, _ text: String) {
        #expect(TLSFailure.isAboutCertificate(alert: number))
        #expect(TLSFailure.alert(text) == .clientCertificateRequired)
    }

    @Test func otherAlertsAreFailuresOfTLS() {
        #expect(!TLSFailure.isAboutCertificate(alert: 40))
        #expect(TLSFailure.alert("sslv3 alert handshake failure") == .tlsFailed)
    }

    @Test(
        arguments: [
            "error:0A000460:SSL routines::tlsv1 alert no application protocol",
            "GnuTLS, handshake failed: No common application protocol could be negotiated.",
        ])
    func missingCommonProtocolIsRecognizedByText(_ text: String) {
        #expect(TLSFailure.isOfProtocol(text))
        #expect(TLSFailure.alert(text) == .tlsFailed)
        #expect(!TLSFailure.isOfProtocol("sslv3 alert handshake failure"))
    }

    @Test func missingDescriptorIsNotReportedAsProxyFailure() throws {
        let proxy = try #require(URL(string: "http://127.0.0.1:1"))
        try withEngineParts({ $0.proxy = .url(proxy) }) { parts in
            let (transfer, easy) = try parts.prepared("http://a.example/")
            transfer.attach(to: easy)
            #expect(transfer.error(forCurlResult: 7, easy).code == .proxyFailed)
            transfer.connection.socketFailed(EMFILE)
            let error = transfer.error(forCurlResult: 7, easy)
            #expect(error.code == .connectFailed)
            #expect(error.native?.name == "EMFILE")
        }
    }

    /// libcurl before 8.8 keeps the errno of a handle's earlier transfer. If that one timed out, libcurl reports an
    /// address that got no socket as a timeout.
    @Test func failedSocketIsNotReportedAsTimeout() throws {
        try withEngineParts { parts in
            let (refused, easy) = try parts.prepared("http://a.example/")
            refused.attach(to: easy)
            refused.connection.refusedAddress = "127.0.0.1"
            let error = refused.error(forCurlResult: 28, easy)
            #expect(error.code == .addressRefused)
            #expect(error.native?.number == 7)
            let (lacking, other) = try parts.prepared("http://a.example/")
            lacking.attach(to: other)
            lacking.connection.socketFailed(EMFILE)
            #expect(lacking.error(forCurlResult: 28, other).native?.name == "EMFILE")
        }
    }

    /// libcurl 8.16.0 loses the buffered part of a paused response.
    @Test func responseLostByLibcurlIsSafeToRetry() throws {
        try withEngineParts { parts in
            let (transfer, easy) = try parts.prepared("http://a.example/")
            transfer.attach(to: easy)
            let error = transfer.error(forCurlResult: 81, easy)
            #expect(error.code == .receiveFailed)
            #expect(error.isSafeToRetry)
        }
    }
}
