import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Request plans")
struct RequestPlanTests {
    static let capabilities = Capabilities(
        version: "7.88.1", versionNumber: 0x075801,
        features: ["HTTP2", "NTLM", "SPNEGO", "UnixSockets", "HTTPS-proxy"],
        protocols: ["http", "https"], tlsBackend: "OpenSSL/3.0.15", hasCustomResolver: false)

    private func plan(
        _ url: String = "http://host/path",
        method: HTTPMethod = .get,
        headers: HTTPHeaders = [:],
        body: BodySource = .none,
        length: Int64? = nil,
        configuration: TransportConfiguration = TransportConfiguration(),
        capabilities: Capabilities = Self.capabilities,
        _ change: (inout TransferRequest) -> Void = { _ in }
    ) throws -> RequestPlan {
        var request = TransferRequest(
            identifier: TaskIdentifier(rawValue: 1), url: try #require(URL(string: url)), method: method,
            headers: headers, body: body)
        change(&request)
        return try RequestPlanner(configuration, capabilities).plan(request, bodyLength: length)
    }

    private func configured(_ change: (inout TransportConfiguration) -> Void) -> TransportConfiguration {
        var configuration = TransportConfiguration()
        change(&configuration)
        return configuration
    }

    private func texts(_ plan: RequestPlan) -> [String] { plan.settings.map(\.description) }

    @Test func plainGETSetsListedOptions() throws {
        let plan = try plan()
        #expect(
            texts(plan) == [
                "HTTP_VERSION=2", "ACCEPT_ENCODING=\"deflate, gzip\"", "HTTP_CONTENT_DECODING=0",
                "CONNECTTIMEOUT_MS=10000",
            ])
        #expect(plan.headerLines == [])
        #expect(plan.body == .none)
        #expect(plan.mayBeResent)
        #expect(plan.host == "host" && !plan.isTLS)
    }

    @Test func trailersNeedHTTP1AndTheirOwnHandle() throws {
        final class Unread: BodyStream {
            var isReplayable: Bool { false }
            func open(waker: any BodyWaker) {}
            func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead { .end }
            func rewind() -> Bool { false }
            func close() {}
        }
        let stream = BodySource.stream(Unread())
        let plain = try plan("https://h/", method: .post, body: stream)
        let trailed = try plan("https://h/", method: .post, body: stream) { $0.trailers = RequestTrailers { [:] } }
        // Later settings win.
        #expect(texts(plain).last { $0.hasPrefix("HTTP_VERSION=") } == "HTTP_VERSION=4")
        #expect(texts(trailed).last { $0.hasPrefix("HTTP_VERSION=") } == "HTTP_VERSION=2")
        #expect(texts(trailed).last { $0.hasPrefix("PIPEWAIT=") } == "PIPEWAIT=0")
        #expect(!plain.needsOwnHandle && trailed.needsOwnHandle)
        var old = Self.capabilities
        old.versionNumber = 0x074C00
        let error = #expect(throws: CurlewError.self) {
            try plan(method: .post, body: stream, capabilities: old) { $0.trailers = RequestTrailers { [:] } }
        }
        #expect(error?.code == .unsupported)
    }

    @Test func automaticVersionIsHTTP1IfLibcurlLacksHTTP2() throws {
        var capabilities = Self.capabilities
        capabilities.features.remove("HTTP2")
        #expect(
            texts(try plan("https://h/", capabilities: capabilities))[0...1] == [
                "HTTP_VERSION=2", "ACCEPT_ENCODING=\"deflate, gzip\"",
            ])
    }

    @Test func requestOverTLSWaitsToShareConnection() throws {
        #expect(texts(try plan("https://h/"))[0...1] == ["HTTP_VERSION=4", "PIPEWAIT=1"])
        #expect(texts(try plan("https://h/") { $0.options.multiplexes = false })[0] == "HTTP_VERSION=2")
        #expect(
            texts(try plan("https://h/", configuration: configured { $0.httpVersion = .http1_1 }))[0]
                == "HTTP_VERSION=2")
        let priorKnowledge = configured { $0.httpVersion = .http2PriorKnowledge }
        #expect(
            texts(try plan("https://h/", configuration: priorKnowledge))[0...1] == ["HTTP_VERSION=5", "PIPEWAIT=1"])
        // libcurl 7.88 cannot reuse a plain HTTP/2 connection (curl issue 10634). The plan does not forbid it, because
        // `DeliveryEvidence` takes a connection that libcurl closes for broken.
        let plain = texts(try plan("http://h/", configuration: priorKnowledge))
        #expect(plain[0...1] == ["HTTP_VERSION=5", "FRESH_CONNECT=1"] && !plain.contains("FORBID_REUSE=1"))
    }

    /// A version of libcurl, and whether requests wait to share a connection that is being made.
    @Test(arguments: [(0x080C01, true), (0x080D00, false), (0x080F00, false), (0x081000, true)])
    func libcurlVersionDecidesWhetherRequestWaitsToShare(_ version: Int, _ waits: Bool) throws {
        var capabilities = Self.capabilities
        capabilities.versionNumber = version
        for policy in [HTTPVersionPolicy.automatic, .http2PriorKnowledge] {
            let plan = try plan(
                "https://h/", configuration: configured { $0.httpVersion = policy }, capabilities: capabilities)
            #expect(texts(plan).contains("PIPEWAIT=1") == waits)
        }
    }

    @Test func requestWithOwnConnectionKeepsPriorKnowledge() throws {
        let configuration = configured {
            $0.httpVersion = .http2PriorKnowledge
            $0.proxy = .none
        }
        let planner = RequestPlanner(configuration, Self.capabilities)
        let url = try #require(URL(string: "http://proxy.test:3128"))
        var plans: [RequestPlan] = []
        for user in ["a", "b"] {
            let wanted = request(try #require(URL(string: "https://h/"))) {
                $0.options.proxy = .url(url, username: user, password: "p")
            }
            plans.append(try planner.plan(wanted, bodyLength: nil))
        }
        #expect(plans.map(\.isAlone) == [false, true] && plans.map(\.closesConnection) == [false, true])
        for plan in plans { #expect(texts(plan).last { $0.hasPrefix("HTTP_VERSION") } == "HTTP_VERSION=5") }
    }

    @Test func unsharedRequestClosesItsConnection() throws {
        let priorKnowledge = configured { $0.httpVersion = .http2PriorKnowledge }
        let planner = RequestPlanner(priorKnowledge, Self.capabilities)
        // The second plan uses the cached settings of the first.
        for _ in 0..<2 {
            let wanted = request(try #require(URL(string: "https://h/"))) { $0.options.multiplexes = false }
            let plan = try planner.plan(wanted, bodyLength: nil)
            #expect(plan.closesConnection && texts(plan).contains("FORBID_REUSE=1"))
            let bytes = try planner.plan(wanted, for: .byteConnection(sendBuffer: 1), bodyLength: nil)
            #expect(!bytes.closesConnection && bytes.sendBuffer == 1)
            #expect {
                try planner.plan(wanted, for: .prewarming(opensNew: false), bodyLength: nil)
            } throws: { CurlewError.Code.unsupported ~= $0 }
        }
        #expect(try !plan("https://h/", configuration: priorKnowledge).closesConnection)
    }

    @Test(
        arguments: [
            (.basic, false, false), (.digest, false, false), (.bearer, false, false), (.any, false, true),
            (.ntlm, true, false), (.negotiate, true, false),
        ] as [(TransferAuthentication.Scheme, Bool, Bool)])
    func connectionAuthenticationNeedsItsOwnConnection(
        _ scheme: TransferAuthentication.Scheme, _ isAlone: Bool, _ goesAloneIfOffered: Bool
    ) throws {
        for url in ["http://h/", "https://h/"] {
            let plan = try plan(url) {
                $0.options.authentication = TransferAuthentication(scheme: scheme, username: "u", password: "p")
            }
            #expect(plan.isAlone == isAlone)
            #expect(plan.goesAloneIfOffered == goesAloneIfOffered)
            let settings = texts(plan)
            #expect(settings.contains("FORBID_REUSE=1") == isAlone)
            #expect(!isAlone || settings.last { $0.hasPrefix("HTTP_VERSION") } == "HTTP_VERSION=2")
        }
    }

    @Test func anyAuthenticationSchemeDependsOnLibcurl() throws {
        let any = TransferAuthentication(username: "u", password: "p")
        var capabilities = Self.capabilities
        // This version does not call back before it answers a challenge.
        (capabilities.version, capabilities.versionNumber) = ("7.74.0", 0x074A00)
        #expect(try plan(capabilities: capabilities) { $0.options.authentication = any }.isAlone)
        capabilities.features.subtract(["NTLM", "SPNEGO"])
        let plan = try plan(capabilities: capabilities) { $0.options.authentication = any }
        #expect(!plan.isAlone && !plan.goesAloneIfOffered)
    }

    @Test(arguments: [HTTPVersionPolicy.http2PriorKnowledge, .http3])
    func sharedConnectionsRefuseNTLMAndNegotiate(_ version: HTTPVersionPolicy) throws {
        var capabilities = Self.capabilities
        capabilities.features.insert("HTTP3")
        let configuration = configured { $0.httpVersion = version }
        for scheme in [TransferAuthentication.Scheme.ntlm, .negotiate] {
            let error = #expect(throws: CurlewError.self) {
                _ = try plan("https://h/", configuration: configuration, capabilities: capabilities) {
                    $0.options.authentication = TransferAuthentication(scheme: scheme, username: "u", password: "p")
                }
            }
            #expect(error?.code == .unsupported)
            #expect(error?.reason.contains("HTTP/1.1") == true)
        }
        let any = try plan("https://h/", configuration: configuration, capabilities: capabilities) {
            $0.options.authentication = TransferAuthentication(username: "u", password: "p")
        }
        #expect(texts(any).contains("HTTPAUTH=3"))
        #expect(!any.isAlone && !any.goesAloneIfOffered)
    }

    @Test func smallPOSTIsSentInOnePiece() throws {
        let plan = try plan(method: .post, body: .data(Data("a=1".utf8)))
        #expect(texts(plan)[0] == "POST=1")
        #expect(plan.body == .fields(Data("a=1".utf8)))
        #expect(plan.headerLines == ["Content-Type:"])
        #expect(!plan.mayBeResent)
    }

    @Test func largePUTIsReadInPieces() throws {
        let plan = try plan(method: .put, body: .data(Data(count: 3_000_000)))
        #expect(texts(plan)[0...1] == ["UPLOAD=1", "UPLOAD_BUFFERSIZE=262144"])
        #expect(plan.body == .upload(3_000_000))
        #expect(plan.sendsExpect)
    }

    @Test(arguments: [
        (ExpectContinue.automatic, 10, ["Content-Type:"]), (.always, 10, ["Content-Type:", "Expect: 100-continue"]),
        (.never, 3_000_000, ["Content-Type:", "Expect:"]), (.automatic, 3_000_000, ["Content-Type:"]),
        (.automatic, 100_000, ["Content-Type:", "Expect:"]),
        (.always, 100_000, ["Content-Type:", "Expect: 100-continue"]),
    ])
    func expectContinuePolicyDecidesExpectField(_ policy: ExpectContinue, _ count: Int, _ lines: [String]) throws {
        let plan = try plan(method: .post, body: .data(Data(count: count))) { $0.options.expectContinue = policy }
        #expect(plan.headerLines == lines)
    }

    @Test func otherMethodsSetListedOptions() throws {
        #expect(texts(try plan(method: .delete))[0] == "CUSTOMREQUEST=\"DELETE\"")
        #expect(texts(try plan(method: .head))[0] == "NOBODY=1")
        let patch = try plan(method: .patch)
        #expect(
            texts(patch)[0...3] == [
                "POST=1", "COPYPOSTFIELDS=\"\"", "POSTFIELDSIZE_LARGE=0", "CUSTOMREQUEST=\"PATCH\"",
            ])
    }

    @Test func emptyHeadersAreWrittenForLibcurl() throws {
        let plan = try plan(headers: ["A": "1", "Empty": "", "Blank": "  ", "Content-Length": "9"])
        #expect(plan.headerLines == ["A: 1", "Empty;", "Blank;"])
    }

    @Test func defaultHeadersAreSharedUnlessOneIsReplaced() throws {
        let defaults = DefaultHeaders(["User-Agent": "x", "Accept": "y"])
        #expect(try plan { $0.defaultHeaders = defaults }.defaultHeaderList != nil)
        #expect(try plan(headers: ["Z": "1"]) { $0.defaultHeaders = defaults }.defaultHeaderList != nil)
        let own = try plan(headers: ["accept": "z"]) { $0.defaultHeaders = defaults }
        #expect(own.defaultHeaderList == nil)
        #expect(own.headerLines == ["accept: z", "User-Agent: x"])
    }

    @Test func authenticationSchemesSetListedOptions() throws {
        let digest = try plan {
            $0.options.authentication = TransferAuthentication(scheme: .digest, username: "u", password: "p")
        }
        #expect(texts(digest).contains("HTTPAUTH=2"))
        #expect(digest.needsOwnHandle)
        let bearer = try plan {
            $0.options.authentication = TransferAuthentication(scheme: .bearer, username: "", password: "t")
        }
        #expect(texts(bearer).suffix(2) == ["HTTPAUTH=64", "XOAUTH2_BEARER=\"t\""])
        let aws = try plan {
            $0.options.authentication = TransferAuthentication(
                scheme: .awsSigV4(provider: "aws:amz:r:s"), username: "k", password: "secret")
        }
        // libcurl neither signs the request nor answers a challenge.
        #expect(texts(aws).last == "HTTPAUTH=0")
        #expect(aws.headerLines.map { $0.prefix { $0 != ":" } } == ["Host", "x-amz-date", "Authorization"])
        #expect(aws.headerLines[0] == "Host: host" && !aws.headerLines.joined().contains("secret"))
    }

    @Test func rateLimitsAndPurposeSetListedOptions() throws {
        let plan = try plan(configuration: configured { $0.downloadRateLimit = 5 }) {
            $0.options.purpose = .file
            $0.options.uploadRateLimit = 7
            $0.options.decodesContent = false
            $0.options.timeouts.connect = nil
        }
        #expect(
            texts(plan) == [
                "HTTP_VERSION=2", "CONNECTTIMEOUT_MS=2147483647", "MAX_SEND_SPEED_LARGE=7", "MAX_RECV_SPEED_LARGE=5",
                "BUFFERSIZE=1024",
            ])
        // libcurl before 8.0 loses track of an HTTP/2 frame in which its buffer is full, so the buffer must be larger.
        let priorKnowledge = configured { $0.httpVersion = .http2PriorKnowledge }
        let limited = try self.plan(configuration: priorKnowledge) { $0.options.downloadRateLimit = 5 }
        #expect(texts(limited).contains("BUFFERSIZE=49152"))
        let unlimited = try self.plan { $0.options.purpose = .stream }
        #expect(texts(unlimited).contains("BUFFERSIZE=524288"))
    }

    @Test func onlyDNSOverridesOfTheHostAreSet() throws {
        let overrides = configured { $0.dns.overrides = ["Host": ["1.2.3.4", "::1"], "other": ["9.9.9.9"]] }
        #expect(texts(try plan(configuration: overrides)).last == "RESOLVE=[host:80:1.2.3.4,[::1]]")
        #expect(texts(try plan("http://else/", configuration: overrides)).last == "CONNECTTIMEOUT_MS=10000")
        let both = configured { $0.dns.overrides = ["host": ["1.2.3.4"], "host:80": ["5.6.7.8"], "HOST": ["9.9.9.9"]] }
        #expect(texts(try plan(configuration: both)).last == "RESOLVE=[host:80:5.6.7.8]")
    }

    @Test(
        "a DNS override for an international name applies to the encoded host",
        arguments: ["BÜCHER.example:80", "bücher.example"])
    func dnsOverridesOfInternationalNames(_ key: String) throws {
        let overrides = configured { $0.dns.overrides = [key: ["1.2.3.4"], "bücher.example:81": ["9.9.9.9"]] }
        let plan = try plan("http://bücher.example/", configuration: overrides)
        #expect(texts(plan).last == "RESOLVE=[xn--bcher-kva.example:80:1.2.3.4]")
    }

    @Test(arguments: [
        ("http://h", "h", 80, false), ("HTTPS://User:p%40@H.example:8443/x?y#z", "H.example", 8443, true),
        ("http://[::1]:99/", "::1", 99, false), ("https://h?q", "h", 443, true), ("http://h:/", "h", 80, false),
    ])
    func hostPortAndSchemeAreReadFromURL(_ text: String, _ host: String, _ port: Int, _ isTLS: Bool) throws {
        let wire = try WireURL(try #require(URL(string: text)))
        #expect(wire.host == host && wire.port == port && wire.isTLS == isTLS)
        #expect(wire.string == text)
    }

    /// Evaluators get the host that libcurl connects to, and overrides are compared with it.
    @Test(arguments: [
        ("https://ex%61mple.com/", "example.com"), ("https://u@EX%41MPLE.com:8443/%61", "EXAMPLE.com"),
        ("https://%3127.0.0.1", "127.0.0.1"), ("https://[fe80::1%25lo]/", "fe80::1"), ("https://h/%61", "h"),
        // A host that libcurl rejects stays as it is, and the transfer fails with an invalid URL.
        ("https://a%2Fb/", "a%2Fb"),
    ])
    func escapedHostIsDecodedAsByLibcurl(_ text: String, _ host: String) throws {
        let wire = try WireURL(try #require(URL(string: text)))
        #expect(wire.host == host)
        #expect(wire.string == text)
    }

    /// Newer versions of libcurl reject a host that still has an escape afterwards.
    @Test func escapesInHostAreDecodedAtMostOnce() throws {
        let wire = try WireURL(try #require(URL(string: "https://ex%2561mple.com/")))
        #expect(["ex%61mple.com", "ex%2561mple.com"].contains(wire.host))
    }

    @Test func dnsOverrideAppliesToEscapedHost() throws {
        let overrides = configured { $0.dns.overrides = ["host": ["1.2.3.4"]] }
        #expect(texts(try plan("http://h%6Fst/", configuration: overrides)).last == "RESOLVE=[host:80:1.2.3.4]")
    }

    @Test(arguments: [
        ("http://h:80/", "/", nil), ("https://h/a/b;c//d.e?f=g/../h:@?", "/a/b;c//d.e", "f=g/../h:@?"),
        ("HTTP://h//a?b", "//a", "b"), ("http://h/a..b./c?=", "/a..b./c", "="),
    ])
    func plainURLIsDividedIntoParts(_ text: String, _ path: String, _ query: String?) throws {
        let url = try #require(URL(string: text))
        let wire = try WireURL(url)
        let outline = try #require(wire.outline)
        let bytes = Array(text.utf8)
        #expect(String(decoding: bytes[outline.origin..<outline.path], as: UTF8.self) == path)
        #expect(outline.hasQuery == (query != nil))
        if let query { #expect(String(decoding: bytes[(outline.path + 1)...], as: UTF8.self) == query) }
    }

    @Test func specialCharacterIsFoundAnywhereInURL() throws {
        for count in 0..<20 {
            let path = String(repeating: "a", count: count)
            #expect(try WireURL(try url("http://h/\(path)")).outline != nil)
            for cut in 0...count {
                for special in ["%41", "#", "[", "]%5B", "?%"] {
                    let text = "http://h/\(path.prefix(cut))\(special)\(path.dropFirst(cut))"
                    #expect(try WireURL(try url(text)).outline == nil, "\(text)")
                }
            }
        }
    }

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test(arguments: [
        "http://h", "http://h?q", "http://h/?", "http://h/a?", "http://h/a#f", "http://h/a?b#f", "http://h/%41",
        "http://h/a?%20", "http://u@h/", "http://u:p@h/a", "http://@h/", "http://[::1]/", "http://h/.",
        "http://h/a/../b",
        "http://h/.a", "http://h/[a]",
    ])
    func specialURLIsParsedByLibcurl(_ text: String) throws {
        let url = try #require(URL(string: text))
        #expect(try WireURL(url).outline == nil)
    }
}
