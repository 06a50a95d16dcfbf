internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Redirect policy", .timeLimit(.minutes(4)))
struct RedirectPolicyTests {
    static func decide(
        _ location: String?,
        from base: String = "https://a.test/dir/page?q#frag",
        status: Int = 302,
        method: HTTPMethod = .get,
        body: BodySource = .none,
        hops: Int = 0,
        policy: RedirectPolicy = RedirectPolicy()
    ) throws -> RedirectAction {
        var head = ResponseHead(status: status)
        if let location { head.headers.append(name: "location", value: location) }
        let url = try #require(URL(string: base))
        return policy.action(for: head, answering: RedirectSource(url: url, method: method, body: body, hops: hops))
    }

    static let targets: [(String, String)] = [
        ("next", "https://a.test/dir/next#frag"),
        ("/next#own", "https://a.test/next#own"),
        ("//b.test/x", "https://b.test/x#frag"),
        ("?r=1", "https://a.test/dir/page?r=1#frag"),
        ("../../up", "https://a.test/up#frag"),
        ("  /blank around  ", "https://a.test/blank%20around#frag"),
        ("/ä%C3%A4%zz", "https://a.test/%C3%A4%C3%A4%25zz#frag"),
        ("/a?100%&b=%FF%", "https://a.test/a?100%25&b=%FF%25#frag"),
        ("/a|b\"c<d>{e}^`", "https://a.test/a%7Cb%22c%3Cd%3E%7Be%7D%5E%60#frag"),
        ("\\\\evil.test\\x", "https://a.test/dir/%5C%5Cevil.test%5Cx#frag"),
        ("HTTPS://B.test/", "HTTPS://B.test/#frag"),
        ("https://user:secret@b.test/", "https://b.test/#frag"),
        ("https://user:secret@a.test/x", "https://user:secret@a.test/x#frag"),
        ("https://b.test:8443", "https://b.test:8443#frag"),
    ]

    @Test("Location is resolved against the request's URL", arguments: targets)
    func resolution(location: String, expected: String) throws {
        guard case .follow(let next) = try Self.decide(location) else {
            Issue.record("not followed")
            return
        }
        #expect(next.url.absoluteString == expected)
    }

    @Test(
        "a WebSocket handshake follows redirects to ws and wss, and other requests do not",
        arguments: [
            ("ws://b.test/x", "http://b.test/x"), (" WSS://b.test/x", "https://b.test/x"), ("ws:/x", nil),
            ("/ws://x", "http://a.test/ws://x"), ("wsx://b.test/", nil),
        ] as [(String, String?)])
    func handshake(location: String, expected: String?) throws {
        let url = try #require(URL(string: "http://a.test/page"))
        let head = ResponseHead(status: 302, headers: ["Location": location])
        for opensWebSocket in [true, false] {
            let action = RedirectPolicy().action(
                for: head,
                answering: RedirectSource(url: url, method: .get, body: .none, hops: 0, opensWebSocket: opensWebSocket))
            let next: URL? = if case .follow(let redirect) = action { redirect.url } else { nil }
            #expect(next?.absoluteString == (opensWebSocket || location.hasPrefix("/") ? expected : nil))
        }
    }

    static let texts: [([UInt8], String)] = [
        (Array("/ä?q=%".utf8), "/ä?q=%"), (Array("/x?".utf8) + [0xFF], "/x?%FF"),
        (Array("/é?".utf8) + [0xE9], "/%C3%A9?%E9"), ([0xC3], "%C3"), ([], ""),
    ]

    @Test("bytes of a Location that are not UTF-8 are percent-encoded unchanged", arguments: texts)
    func foreignBytes(bytes: [UInt8], text: String) {
        #expect(RedirectLocation.text(of: bytes) == text)
    }

    @Test(
        "a redirect to anything but an http or https URL with a host is refused",
        arguments: [
            "ftp://a.test/", "data:,x", "javascript:alert(1)", "file:///etc/passwd", "https:///nowhere", "http://",
        ])
    func refused(location: String) throws {
        guard case .refuse(let error) = try Self.decide(location) else {
            Issue.record("\(location) is not refused")
            return
        }
        #expect(error.code == .redirectRefused)
        #expect(!error.description.contains("passwd"))
    }

    @Test(
        "a redirect to a host with invalid characters is refused",
        arguments: ["a%0Ab", "a%2Fb", "a%40b", "a%20b", "a%00"])
    func hosts(host: String) throws {
        guard case .refuse = try Self.decide("https://\(host)/") else {
            Issue.record("\(host) is not refused")
            return
        }
    }

    @Test("different Location fields are refused, and equal ones are followed")
    func duplicates() throws {
        let url = try #require(URL(string: "http://a.test/".lowercased()))
        let source = RedirectSource(url: url, method: .get, body: .none, hops: 0)
        for (second, isFollowed) in [("/x", true), ("/y", false)] {
            let headers = HTTPHeaders(received: ["/x", second].map { HTTPHeader(name: "Location", value: $0) })
            let action = RedirectPolicy().action(for: ResponseHead(status: 302, headers: headers), answering: source)
            if case .follow = action { #expect(isFollowed) } else { #expect(!isFollowed) }
        }
    }

    @Test("a redirect from https to http is refused unless it is allowed")
    func insecure() throws {
        guard case .refuse(let error) = try Self.decide("http://a.test/") else {
            Issue.record("followed")
            return
        }
        #expect(error.code == .redirectRefused)
        guard case .follow(let next) = try Self.decide("http://a.test/", policy: .init(allowsInsecure: true)) else {
            Issue.record("refused")
            return
        }
        #expect(Self.removed(next, RedirectPolicy()).contains("Authorization"))
    }

    @Test("a redirect without a usable Location is delivered", arguments: [nil, "", "  "] as [String?])
    func delivered(location: String?) throws {
        guard case .deliver = try Self.decide(location) else {
            Issue.record("not delivered")
            return
        }
    }

    @Test(
        "a response whose status is not 301, 302, 303, 307 or 308 is delivered",
        arguments: [200, 300, 304, 305, 306, 404])
    func statuses(status: Int) throws {
        guard case .deliver = try Self.decide("/x", status: status) else {
            Issue.record("not delivered")
            return
        }
    }

    static let methods: [(Int, HTTPMethod, HTTPMethod)] = [
        (301, .post, .get), (302, .post, .get), (303, .post, .get), (307, .post, .post), (308, .post, .post),
        (301, .put, .put), (302, .delete, .delete), (303, .put, .get), (303, .head, .head), (302, .head, .head),
        (303, .query, .get), (302, .query, .query), (307, .query, .query), (303, .get, .get),
    ]

    @Test("methods change as in RFC 9110, and the body is dropped if the method changes", arguments: methods)
    func method(status: Int, before: HTTPMethod, after: HTTPMethod) throws {
        guard case .follow(let next) = try Self.decide("/x", status: status, method: before, body: .data(Data([1])))
        else {
            Issue.record("not followed")
            return
        }
        #expect(next.method == after)
        #expect(next.dropsBody == (before != after))
        #expect(Self.removed(next, RedirectPolicy()).contains("Content-Type") == next.dropsBody)
    }

    @Test("a body that cannot be sent again is an error only if the redirect needs it")
    func oneShotBody() throws {
        let body = BodySource.stream(OneShot())
        guard case .refuse(let error) = try Self.decide("/x", status: 307, method: .post, body: body) else {
            Issue.record("followed")
            return
        }
        #expect(error.code == .bodyUnavailable)
        guard case .follow = try Self.decide("/x", status: 303, method: .post, body: body) else {
            Issue.record("refused")
            return
        }
    }

    @Test(
        "the redirect above the limit is refused",
        arguments: [(0, 0, true), (1, 0, false), (1, 1, true), (20, 19, false)])
    func limit(limit: Int, hops: Int, isRefused: Bool) throws {
        let action = try Self.decide("/x", hops: hops, policy: RedirectPolicy(limit: limit))
        if case .refuse(let error) = action {
            #expect(isRefused && error.code == .tooManyRedirects)
        } else {
            #expect(!isRefused)
        }
    }

    static let crossings: [(String, Bool)] = [
        ("/x", false), ("https://A.TEST:443/x", false), ("https://a.test:444/", true), ("https://b.test/", true),
        ("https://sub.a.test/", true),
    ]

    @Test("secret fields are removed if the origin changes", arguments: crossings)
    func secrets(location: String, areDropped: Bool) throws {
        let policy = RedirectPolicy(sensitiveHeaders: ["X-Mine"], forwardedHeaders: ["x-api-key", "Host", "X-Mine"])
        guard case .follow(let next) = try Self.decide(location, policy: policy) else {
            Issue.record("not followed")
            return
        }
        let kept = ["Authorization", "Cookie", "Host", "X-Api-Key", "X-Auth-Token", "X-Mine"]
        #expect(Self.removed(next, RedirectPolicy()) == (areDropped ? kept.filter { $0 != "X-Mine" } : []))
        // A forwarded field is kept, unless it is also named as sensitive. `Host` is never kept.
        #expect(Self.removed(next, policy) == (areDropped ? kept.filter { $0 != "X-Api-Key" } : []))
    }

    private static func removed(_ redirect: Redirect, _ policy: RedirectPolicy) -> [String] {
        let names = [
            "Accept", "Authorization", "Content-Type", "Cookie", "Host", "X-Api-Key", "X-Auth-Token", "X-Mine",
        ]
        return redirect.headersToRemove(from: HTTPHeaders(names.map { HTTPHeader(name: $0, value: "v") }), by: policy)
    }

    @Test("a Referer with a query, fragment or credentials is removed if the origin changes")
    func referer() throws {
        guard case .follow(let next) = try Self.decide("https://b.test/") else {
            Issue.record("not followed")
            return
        }
        for (value, isDropped) in [
            ("https://a.test/page", false), ("https://a.test/?code=S", true), ("https://a.test/#S", true),
            ("https://ada:S@a.test/", true),
        ] {
            let headers: HTTPHeaders = ["referer": value]
            #expect(next.headersToRemove(from: headers, by: RedirectPolicy()).isEmpty == !isDropped, "\(value)")
            #expect(next.headersToRemove(from: headers, by: RedirectPolicy(forwardedHeaders: ["Referer"])).isEmpty)
        }
    }
}

private final class OneShot: BodyStream {
    let isReplayable = false
    func open(waker: any BodyWaker) {}
    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead { .end }
    func rewind() -> Bool { false }
    func close() {}
}
