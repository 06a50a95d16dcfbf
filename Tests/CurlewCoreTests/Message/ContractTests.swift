internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Values of the transport contract", .timeLimit(.minutes(4)))
struct ContractTests {
    @Test("bodies in memory or in a file can be sent again")
    func bodies() {
        #expect(BodySource.none.isReplayable && BodySource.data(Data()).isReplayable)
        #expect(BodySource.file(URL(filePath: "/x")).isReplayable)
    }

    @Test("configurations and options have the expected defaults")
    func defaults() {
        let timeouts = Timeouts()
        #expect(timeouts.connect == .seconds(10) && timeouts.firstByte == .seconds(60) && timeouts.idle == .seconds(60))
        #expect(timeouts.total == nil && timeouts.queue == .seconds(60))
        let transport = TransportConfiguration()
        #expect(transport.maximumConnectionsPerHost == 6 && transport.maximumConnections == 256)
        #expect(transport.maximumHeaderSize == 256 * 1024 && transport.addressPolicy == .any)
        let tls = TLSConfiguration()
        #expect(tls.minimumVersion == .v1_2 && tls.certificateVerification == .full && tls.trustRoots == .system)
        #expect(TLSVersion.v1_2 < .v1_3)
        #expect(TransferOptions().decodesContent && TransferOptions(maximumBodySize: 5).maximumBodySize == 5)
        #expect(DNSConfiguration(overrides: ["a": ["::1"]]).overrides.count == 1)
        let credentials = TransferAuthentication(username: "u", password: "p")
        #expect(credentials.scheme == .any && credentials.username == "u" && credentials.password == "p")
        let trust = ServerTrust(host: "h", certificateChain: [Data([1])], verifyResult: 10)
        #expect(trust.host == "h" && trust.certificateChain.count == 1 && trust.verifyResult == 10)
        #expect(RedirectPolicy() == RedirectPolicy(limit: 20, sensitiveHeaders: [], allowsInsecure: false))
    }

    @Test("capabilities compare versions")
    func capabilities() {
        let capabilities = Capabilities(
            version: "7.88.1", versionNumber: 0x075801, features: [], protocols: [], tlsBackend: "OpenSSL/3.0",
            hasCustomResolver: false)
        #expect(capabilities.isAtLeast(7, 88, 1) && capabilities.isAtLeast(7, 9, 9) && !capabilities.isAtLeast(8, 0, 0))
        #expect(capabilities.usesOpenSSL)
    }

    @Test("capabilities list the unsupported features and their requirements")
    func refusals() throws {
        var capabilities = Capabilities(
            version: "8.14.1", versionNumber: 0x080E01,
            features: ["HTTP2", "HTTPS-proxy", "UnixSockets", "NTLM", "SPNEGO"], protocols: ["http", "https"],
            tlsBackend: "OpenSSL/3.5", hasCustomResolver: false)
        #expect(capabilities.refusals.map(\.feature) == ["HTTP/3", "choosing DNS servers"])
        #expect(capabilities.refusals.first?.needs == "libcurl built with HTTP/3")
        capabilities.tlsBackend = "GnuTLS/3.8.9"
        capabilities.features.insert("HTTP3")
        #expect(
            capabilities.refusals.map(\.feature) == [
                "choosing DNS servers", "trust evaluation", "a client identity in memory", "a TLS key log",
                "HTTP/3 without name verification",
            ])
        #expect { try capabilities.require(.keyLog) } throws: {
            CurlewError.Code.unsupported ~= $0 && "\($0)".contains("a TLS key log needs libcurl with OpenSSL")
        }
        try capabilities.require(.http3)
    }

    @Test("checksums are read and written as hexadecimal digits")
    func checksums() {
        let hex = "D41D8CD98F00B204E9800998ECF8427E"
        #expect(Checksum(.md5, hex: hex)?.description == "md5:" + hex.lowercased())
        #expect(Checksum(.md5, hex: hex + "00") == nil && Checksum(.md5, hex: "x" + hex.dropFirst()) == nil)
        #expect(ChecksumAlgorithm.allCases.map(\.byteCount) == [32, 64, 48, 20, 16])
    }

    @Test("a request never returns to its first state, and never leaves its last one")
    func requestStates() {
        let all: [RequestState] = [.initialized, .resumed, .suspended, .cancelled, .finished]
        let allowed = all.map { state in all.filter(state.canTransition).count }
        #expect(allowed == [4, 3, 3, 0, 0])
    }

    @Test("a sink has to implement only the method for the body")
    func sinkDefaults() async throws {
        let head = ResponseHead(status: 200, reason: "OK", version: .http1_1, headers: [:])
        let sink = BodyOnly()
        sink.willStart(NoControl())
        sink.didReceive(informational: head)
        sink.didSend(bodyBytes: 1, of: nil)
        guard case .proceed = sink.didReceive(head: head) else {
            Issue.record("a head goes on")
            return
        }
        let outcome = try await Canned(head: head).perform(
            TransferRequest(
                identifier: TaskIdentifier(rawValue: 1), url: URL(filePath: "/"), method: .get, headers: [:],
                body: .none),
            sink: sink
        )
        #expect(outcome.head == head && outcome.trailers.isEmpty)
        await Canned(head: head).shutdown()
    }

    private final class BodyOnly: TransferSink {
        func didReceive(body: UnsafeRawBufferPointer) -> Disposition { .proceed }
    }

    private final class NoControl: TransferControl {
        func resumeReceiving() {}
        func suspend() {}
        func resume() {}
        func cancel(with error: CurlewError) {}
    }

    private struct Canned: Transport {
        let head: ResponseHead

        func perform(
            _ request: TransferRequest,
            sink: any TransferSink
        ) async throws(CurlewError) -> TransferOutcome {
            let moment = Date(timeIntervalSince1970: 1_800_000_000)
            return TransferOutcome(head: head, metrics: TransferMetrics(queued: moment, ended: moment))
        }
    }

    @Test("a number of seconds becomes a bounded duration")
    func boundedSeconds() {
        #expect(Duration.bounded(seconds: 1.5) == .milliseconds(1500))
        #expect(Duration.bounded(seconds: -1) == .zero)
        #expect(Duration.bounded(seconds: .infinity) == .seconds(1_000_000_000))
        #expect(Duration.bounded(seconds: .nan) == .zero)
    }

    @Test("a file name that looks percent-encoded is written so that it is read back unchanged")
    func escapedFilename() {
        let header = ContentDisposition(filename: "50%25.txt").headerValue
        #expect(header.contains("filename*=UTF-8''50%2525.txt"))
        #expect(ContentDisposition(parsing: header).filename == "50%25.txt")
    }
}
