import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

@Suite("Snapshots of requests before a URLRequest is created")
struct RequestSnapshotTests {
    private static let url = "http://example.org/path?query=1"

    @Test(
        "a snapshot agrees with the URLRequest of the same request",
        arguments: [
            (HTTPMethod.get, nil), (.post, nil), (.delete, [:]), (HTTPMethod(rawValue: "PROPFIND"), nil),
            (.get, ["X-One": "1"]), (.put, ["X-Two": "2", "accept": "*/*", "X-One": "1"]),
            (.get, ["B": "", "a": "x, y", "C": "ä"]),
        ] as [(HTTPMethod, HTTPHeaders?)]
    )
    func agreesWithFoundation(method: HTTPMethod, headers: HTTPHeaders?) throws {
        let plain = PlainRequest(url: Self.url, method: method, headers: headers, modifier: nil)
        let made = try plain.asURLRequest()
        let sent = try #require(try plain.asSnapshot())
        #expect(sent.urlRequest == made)
        #expect(sent.urlRequest.allHTTPHeaderFields ?? [:] == made.allHTTPHeaderFields ?? [:])
        #expect(sent.fields == RequestSnapshot.made(made).fields)
        #expect(sent.method == RequestSnapshot.made(made).method)
        #expect(sent.url == made.url)
        #expect(sent.timeoutInterval == made.timeoutInterval)
        #expect(sent.handlesCookies == made.httpShouldHandleCookies)
    }

    @Test("a request that only a URLRequest can express has no snapshot")
    func leavesTheRest() throws {
        var twice = HTTPHeaders(["X": "1", "Y": "2"])
        twice.append(name: "X", value: "3")
        let modifier: Session.RequestModifier = { $0.timeoutInterval = 5 }
        for plain in [
            PlainRequest(url: Self.url, method: .get, headers: nil, modifier: modifier),
            PlainRequest(url: Self.url, method: HTTPMethod(rawValue: "post"), headers: nil, modifier: nil),
            PlainRequest(url: Self.url, method: HTTPMethod(rawValue: ""), headers: nil, modifier: nil),
            PlainRequest(url: Self.url, method: .get, headers: twice, modifier: nil),
        ] {
            #expect(try plain.asSnapshot() == nil)
        }
    }

    @Test("a snapshot resolves a relative URL")
    func resolves() throws {
        let relative = try #require(URL(string: "b?c", relativeTo: URL(string: "http://example.org/a/")))
        let sent = try #require(
            try PlainRequest(url: relative, method: .get, headers: nil, modifier: nil).asSnapshot())
        #expect(sent.url?.absoluteString == "http://example.org/a/b?c")
        #expect(sent.url?.baseURL == nil)
    }

    @Test(
        "a snapshot knows whether the host of its stored URL needs a check",
        arguments: [
            "http://h/a", "http://h/../b", "http://u:p@h/../x", "http://h:80@e/./", "http://[::1]/%2e", "http://h%2e/.",
        ], [false, true])
    func hostsAreOfTheStoredURL(url: String, keepsDotSegments: Bool) throws {
        let plain = PlainRequest(url: url, method: .get, headers: nil, modifier: nil)
        let sent = try #require(try plain.asSnapshot(keepsDotSegments: keepsDotSegments))
        let stored = try #require(sent.url?.absoluteString)
        #expect(sent.hasPlainHost == URLScan(stored).hasPlainHost)
        #expect(sent.hasPlainHost == (stored.hasPrefix("http://h/")))
    }

    @Test("the snapshot of a request with an invalid URL is an error")
    func fails() {
        let plain = PlainRequest(url: "http://[broken", method: .get, headers: nil, modifier: nil)
        #expect(throws: (any Error).self) { try plain.asSnapshot() }
    }

    /// A URL is parsed in full only if one of its characters suggests credentials.
    @Test(
        "credentials in a URL become the request's authentication, and are removed from the URL",
        arguments: [
            "http://example.org/", "http://u:p@example.org/", "http://u@example.org", "http://:p@example.org/",
            "http://u:@example.org/", "http://@example.org/", "http://:@example.org/", "http://u:p@[::1]:80/",
            "http://u:p@127.0.0.1:8080/a:b@c", "http://example.org/u:p@v", "http://example.org?u:p@v",
            "http://example.org#u:p@v", "http://u%40v:p%3Aq@example.org/", "http://%75:%70@example.org/",
            "http://u:p@example.org:80?q", "HTTP://U:P@EXAMPLE.ORG/", "http://u:p:q@example.org/", "http:///u:p@v",
            "http:/u:p@v/", "http:u:p@v/", "//u:p@example.org/", "u:p@example.org", "http://u;x:p@example.org/",
        ]
    )
    func separatesCredentials(_ text: String) async throws {
        guard let url = URL(string: text) else { return }
        let seen = Recorded<TransferRequest>()
        let transport = MockTransport { request in
            seen.note(request.transfer)
            return .text("x")
        }
        let request = Session(transport: transport).request(url)
        _ = await request.response()
        let (user, password) = (url.user(percentEncoded: false), url.password(percentEncoded: false))
        guard let sent = seen.all.first else {
            #expect(["http", "https"].contains(url.scheme?.lowercased()) == false || url.host() ?? "" == "")
            return
        }
        let hasCredentials = user?.isEmpty == false || password != nil
        #expect((sent.options.authentication != nil) == hasCredentials)
        if hasCredentials {
            #expect(sent.options.authentication?.username == user ?? "")
            #expect(sent.options.authentication?.password == password ?? "")
            #expect(sent.url.user() == nil && sent.url.password() == nil)
        }
        #expect(sent.url.host() == url.host())
        #expect(sent.url.path(percentEncoded: true) == url.path(percentEncoded: true))
    }

    private static let requests: [(HTTPMethod, HTTPHeaders?, Session.RequestModifier?)] = [
        (.get, nil, nil), (.post, ["X": "1", "A": "2"], nil), (HTTPMethod(rawValue: "post"), nil, nil),
        (.get, nil, { $0.timeoutInterval = 5 }), (.put, nil, { $0.httpBody = Data("x".utf8) }),
    ]

    @Test("adapters that change nothing do not change the request", arguments: Self.requests.indices, [true, false])
    func leavesAlone(_ index: Int, isCopied: Bool) async throws {
        let (method, headers, modifier) = Self.requests[index]
        let transport = MockTransport { _ in .text("x") }
        let session = Session(transport: transport)
        func request() -> DataRequest {
            session.request(Self.url, method: method, headers: headers, requestModifier: modifier)
        }
        let adapted = request().adapt(using: Changing { _ in })
        if isCopied { adapted.adapt(using: Changing { $0 = URLRequest(copying: $0) }) }
        let plain = request()
        for request in [adapted, plain] { _ = try await request.data() }
        let (first, second) = (transport.requests[0], transport.requests[1])
        #expect(first.url == second.url && first.method == second.method)
        #expect(Array(first.headers) == Array(second.headers))
        #expect(first.body == second.body)
        #expect(first.transfer.options.timeouts == second.transfer.options.timeouts)
        #expect(adapted.request == plain.request)
        #expect(adapted.attempts.map(\.requests.count) == [2] && plain.attempts.map(\.requests.count) == [1])
        #expect(adapted.attempts.flatMap(\.requests).allSatisfy { $0 == plain.request })
        // Whether the last request is stored in its short form.
        let isShort = { (request: DataRequest) in
            request.record.withLock { $0.history.lastRequest }.map { $0.original == nil } == true
        }
        #expect(isShort(adapted) == (isShort(plain) && !isCopied))
    }

    @Test("a change by one of several adapters is sent")
    func isChanged() async throws {
        let changes: [@Sendable (inout URLRequest) -> Void] = [
            { $0.setValue("1", forHTTPHeaderField: "X") }, { $0.httpMethod = "PUT" }, { $0.timeoutInterval = 7 },
            { $0.url = URL(string: "http://example.org/other") }, { $0.cachePolicy = .reloadRevalidatingCacheData },
        ]
        for change in changes {
            let transport = MockTransport { _ in .text("x") }
            let request = Session(transport: transport).request(Self.url)
            for other in [Changing { _ in }, Changing(change: change), Changing { _ in }] {
                request.adapt(using: other)
            }
            _ = try await request.data()
            var expected = URLRequest(url: try #require(URL(string: Self.url)))
            change(&expected)
            #expect(request.request == expected)
            let sent = try #require(transport.requests.first)
            #expect(sent.url == expected.url && sent.method == expected.method)
            #expect(sent.headers.value(for: "X") == expected.value(forHTTPHeaderField: "X"))
            #expect((sent.transfer.options.timeouts.idle == .seconds(7)) == (expected.timeoutInterval == 7))
            #expect(
                (sent.headers.value(for: "Cache-Control") != nil) == (expected.cachePolicy != .useProtocolCachePolicy))
        }
    }

    private struct Changing: RequestAdapter {
        let change: @Sendable (inout URLRequest) -> Void

        func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
            var changed = urlRequest
            change(&changed)
            return changed
        }
    }

    @Test("isCopy is true for a copied URLRequest until it is changed")
    func knowsCopies() throws {
        let request = URLRequest(url: try #require(URL(string: Self.url)))
        var copy = request
        #expect(copy.isCopy(of: request))
        copy.setValue("1", forHTTPHeaderField: "X")
        #expect(!copy.isCopy(of: request))
        #expect(!URLRequest(copying: request).isCopy(of: request))
        #expect(request.value(forHTTPHeaderField: "X") == nil)
    }
}

extension URLRequest {
    /// Makes an equal request that does not share its storage with `other`.
    fileprivate init(copying other: URLRequest) {
        self = other
        setValue("x", forHTTPHeaderField: "X-Copied")
        setValue(nil, forHTTPHeaderField: "X-Copied")
    }
}
