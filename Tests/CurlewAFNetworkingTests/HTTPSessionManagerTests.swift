import CurlewAFNetworking
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@Suite("A client with a base URL", .timeLimit(.minutes(4)))
struct HTTPSessionManagerTests {
    private struct Person: Codable, Sendable, Equatable {
        var name: String
    }

    /// A transport that responds with a description of each request, as text.
    private static let echo: @Sendable () -> any Transport = {
        MockTransport { request in
            .text(
                "\(request.method.rawValue) \(request.url.absoluteString) "
                    + "\(request.headers.value(for: "Content-Type") ?? "-") \(request.bodyText ?? "-")"
            )
        }
    }

    private func client(_ base: String? = "https://example.com/v1") -> HTTPSessionManager {
        HTTPSessionManager(baseURL: base, transport: Self.echo)
    }

    @Test(
        "paths are resolved by RFC 3986 against the base URL with a trailing slash",
        arguments: [
            ("https://e.com/v1", "users", "https://e.com/v1/users"),
            ("https://e.com/v1/", "users", "https://e.com/v1/users"),
            ("https://e.com/v1", "/users", "https://e.com/users"),
            ("https://e.com/v1", "../users", "https://e.com/users"),
            ("https://e.com/v1", "?page=2", "https://e.com/v1/?page=2"),
            ("https://e.com/v1", "", "https://e.com/v1/"),
            ("https://e.com/v1", "https://other.org/x", "https://other.org/x"),
            ("https://e.com/v1", "//other.org/x", "https://other.org/x"),
            ("https://e.com", "users", "https://e.com/users"),
            ("https://e.com/v1?key=1", "users", "https://e.com/v1/users"),
            ("https://e.com/v1?key=1#part", "", "https://e.com/v1/"),
            ("https://e.com/v1?key=1#part", "#z", "https://e.com/v1/#z"),
            ("https://e.com/a%2Fb", "c%2Fd", "https://e.com/a%2Fb/c%2Fd"),
        ])
    func resolution(base: String, path: String, result: String) async throws {
        let request = client(base).request(.get, path)
        _ = await request.response()
        #expect(request.request?.url?.absoluteString == result)
    }

    @Test("GET, HEAD and DELETE send parameters in the query, and POST, PUT and PATCH as a form")
    func verbs() async throws {
        let client = client()
        let form = "application/x-www-form-urlencoded"
        #expect(
            try await client.get("u", parameters: ["a": 1], as: Data.self).text == "GET https://example.com/v1/u?a=1 - "
        )
        #expect(
            try await client.delete("u", parameters: ["a": 1], as: Data.self).text
                == "DELETE https://example.com/v1/u?a=1 - ")
        #expect(
            try await client.post("u", parameters: ["a": 1], as: Data.self).text
                == "POST https://example.com/v1/u \(form) a=1")
        #expect(
            try await client.put("u", parameters: ["a": 1], as: Data.self).text
                == "PUT https://example.com/v1/u \(form) a=1")
        #expect(
            try await client.patch("u", parameters: ["a": 1], as: Data.self).text
                == "PATCH https://example.com/v1/u \(form) a=1")
        #expect(try await client.post("u", as: Data.self).text == "POST https://example.com/v1/u \(form) ")
        // The response to HEAD has no body that could describe the request.
        let mock = MockTransport { _ in .text("") }
        let asking = HTTPSessionManager(baseURL: "https://example.com/v1", transport: { mock })
        #expect(try await asking.head("u", parameters: ["a": 1]).status == 200)
        let sent = mock.requests.map { "\($0.method.rawValue) \($0.url.absoluteString) \($0.bodyText ?? "-")" }
        #expect(sent == ["HEAD https://example.com/v1/u?a=1 "])
    }

    @Test("the change closure of the defaults is called once per request")
    func changes() async throws {
        let client = HTTPSessionManager(
            baseURL: "https://example.com", transport: { MockTransport { _ in .json(["name": "a"]) } })
        let asked = Lock(0)
        let change: HTTPSessionManager.Change = { defaults in
            asked.withLock { $0 += 1 }
            defaults.acceptableStatusCodes = [200]
        }
        let person = Person(name: "a")
        #expect(try await client.get("u", as: Person.self, changing: change) == person)
        #expect(try await client.post("u", as: Person.self, changing: change) == person)
        #expect(try await client.put("u", sending: person, as: Person.self, changing: change) == person)
        #expect(try await client.delete("u", as: Person.self, changing: change) == person)
        #expect(try await client.send(Endpoint<Person>("u", changing: change)) == person)
        let posted = try await client.post("u", as: Person.self, changing: change) { form in
            form.append(Data("b".utf8), withName: "a")
        }
        #expect(posted == person && asked.withLock { $0 } == 6)
    }

    @Test("a request uses the decoder that its change closure has set")
    func changedDecoder() async throws {
        struct Count: Decodable, Sendable { var itemCount: Int }
        let client = HTTPSessionManager(
            baseURL: "https://example.com", transport: { MockTransport { _ in .json(["item_count": 1]) } })
        let count = try await client.get("u", as: Count.self) { defaults in
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            defaults.decoder = decoder
        }
        #expect(count.itemCount == 1)
    }

    /// Responses without a body, and with bodies of any kind.
    @Test("a deletion without a result type ignores the response's body", arguments: ["", "gone", "{\"id\": 1}"])
    func deletion(body: String) async throws {
        let client = HTTPSessionManager(
            baseURL: "https://example.com",
            transport: {
                MockTransport { request in
                    request.url.path() == "/locked" ? .status(409) : .text("\(request.url.query() ?? "")\(body)")
                }
            })
        try await client.delete("u/1")
        try await client.delete("u/1", parameters: ["a": 1]) { $0.timeoutInterval = 5 }
        let nothing: Void = try await client.delete("u/1")
        _ = nothing
        // The form with a type still returns the body.
        let data: Data = try await client.delete("u/1")
        #expect(data.text == body)
        #expect(try await client.delete("u/1", parameters: ["a": 1], as: Data.self).text == "a=1\(body)")
        let error = await #expect(throws: CurlewError.self) { try await client.delete("locked") }
        #expect(error?.responseCode == 409)
    }

    @Test("values are encoded and decoded as the client's defaults say")
    func values() async throws {
        let client = HTTPSessionManager(
            baseURL: "https://example.com",
            transport: {
                MockTransport { request in .data(request.body, type: "application/json") }
            })
        client.changeDefaults { $0.body = .json }
        let ada = Person(name: "Ada")
        #expect(try await client.post("p", sending: ada, as: Person.self) == ada)
        #expect(try await client.put("p", sending: ada, as: Person.self) == ada)
        let again: Person = try await client.patch("p", parameters: ["name": "Ada"])
        #expect(again == ada)
        let list = try await client.post("p", sending: ada, as: Data.self) { $0.body = .propertyList(.xml) }
        #expect(try PropertyListDecoder().decode(Person.self, from: list) == ada)
        #expect(try await client.get("p", as: Data.self).isEmpty)
    }

    @Test("an encodable value of a GET becomes its query")
    func encodableQuery() async throws {
        let request = client().request(.get, "u", sending: Person(name: "Ada L"))
        #expect(try await request.string() == "GET https://example.com/v1/u?name=Ada%20L - ")
    }

    @Test("the parameters of a multipart form precede its parts")
    func multipart() async throws {
        let parameters: Parameters = ["b": ["x": 1], "a": Data("raw".utf8), "c": NSNull()]
        let answer = try await client().post("u", parameters: parameters, as: Data.self) { form in
            form.append(Data("file".utf8), withName: "f")
        }
        .text
        #expect(answer.hasPrefix("POST https://example.com/v1/u multipart/form-data; boundary="))
        let names = answer.matches(of: /name="([^"]*)"\r\n\r\n([^\r]*)/).map { "\($0.1)=\($0.2)" }
        #expect(names == ["a=raw", "b[x]=1", "c=", "f=file"])
    }

    @Test("data in nested parameters of a multipart form is sent unchanged")
    func multipartContainers() async throws {
        let list: [any Sendable] = [Data("raw".utf8), NSNull(), true]
        let set = Set(["c1", "c2", "c3", "c4"].map { Data($0.utf8) })
        let parameters: Parameters = ["a": list, "b": ["x": Data("deep".utf8)], "c": set]
        let answer = try await client().post("u", parameters: parameters, as: Data.self) { _ in }.text
        let names = answer.matches(of: /name="([^"]*)"\r\n\r\n([^\r]*)/).map { "\($0.1)=\($0.2)" }
        #expect(names == ["a[]=raw", "a[]=", "a[]=1", "b[x]=deep", "c=c1", "c=c2", "c=c3", "c=c4"])
    }

    @Test("defaults apply unless a request changes them")
    func defaults() async throws {
        let client = client()
        client.changeDefaults {
            $0.timeoutInterval = 7
            $0.handlesCookies = false
        }
        let plain = client.request(.get, "a")
        let other = client.request(.get, "b") { $0.timeoutInterval = 9 }
        _ = await plain.response()
        _ = await other.response()
        #expect(plain.request?.timeoutInterval == 7 && plain.request?.httpShouldHandleCookies == false)
        #expect(other.request?.timeoutInterval == 9 && other.request?.httpShouldHandleCookies == false)
        client.defaults = RequestDefaults()
        let fresh = client.request(.get, "c")
        _ = await fresh.response()
        #expect(fresh.request?.timeoutInterval == 60 && fresh.request?.httpShouldHandleCookies == true)
    }

    @Test("statuses and content types are validated by the client's defaults")
    func acceptance() async throws {
        let client = HTTPSessionManager(transport: { MockTransport { _ in .text("no", status: 404) } })
        let url = "https://example.com/x"
        let refused = await #expect(throws: CurlewError.self) { _ = try await client.get(url, as: Data.self) }
        #expect(refused?.code == .unacceptableStatus)
        #expect(try await client.get(url, as: Data.self) { $0.acceptableStatusCodes = [404] }.text == "no")
        let type = await #expect(throws: CurlewError.self) {
            _ = try await client.get(url, as: Data.self) {
                $0.acceptableStatusCodes = [404]
                $0.acceptableContentTypes = ["application/json"]
            }
        }
        #expect(type?.code == .unacceptableContentType)
    }

    @Test("downloads obey the client's defaults")
    func downloads() async throws {
        let transport = MockTransport { request in .text("text", status: request.path == "/gone" ? 404 : 200) }
        let client = HTTPSessionManager(baseURL: "https://example.com", transport: { transport })
        #expect(await client.download("gone").response().error?.code == .unacceptableStatus)
        let refused = client.download("a", changing: { $0.acceptableContentTypes = ["application/json"] })
        #expect(await refused.response().error?.code == .unacceptableContentType)
        #expect(transport.requests.last?.transfer.options.multiplexes == true)
        let scratch = try ScratchDirectory()
        let file = scratch.file("a.txt")
        let alone = client.download("a", changing: { $0.multiplexes = false }, to: { _, _ in (file, []) })
        #expect(try await String(contentsOf: alone.file(), encoding: .utf8) == "text")
        #expect(transport.requests.last?.transfer.options.multiplexes == false)
    }

    @Test("authorization can be set and cleared at run time, and is sent to the base URL's origin alone")
    func authorization() async throws {
        let transport = MockTransport { .text($0.headers.value(for: "Authorization") ?? "nobody") }
        let client = HTTPSessionManager(baseURL: "https://example.com/v1", transport: { transport })
        #expect(try await client.get("a", as: Data.self).text == "nobody")
        client.headers.setAuthorization(username: "ada", password: "secret")
        #expect(try await client.get("a", as: Data.self).text == "Basic YWRhOnNlY3JldA==")
        #expect(try await client.get("https://elsewhere.org/a", as: Data.self).text == "nobody")
        #expect(try await client.get("a", headers: ["Authorization": "own"], as: Data.self).text == "own")
        client.headers.clearAuthorization()
        #expect(try await client.get("a", as: Data.self).text == "nobody")
    }

    @Test("after a reset the client uses a new session")
    func resetting() async throws {
        let client = client()
        let first = client.session
        await client.invalidate(resetting: true)
        #expect(client.session !== first)
        #expect(try await client.get("a", as: Data.self).text.hasPrefix("GET"))
        await client.invalidate()
        let error = await #expect(throws: CurlewError.self) { _ = try await client.get("a", as: Data.self) }
        #expect(error?.code == .sessionClosed)
    }

    @Test("an invalidation without cancelling waits for running requests")
    func waiting() async throws {
        let gate = Gate()
        let transport = MockTransport { request in
            if request.path != "/probe" { try await gate.wait() }
            return .text("done")
        }
        let client = HTTPSessionManager(transport: { transport })
        async let answer = client.get("https://example.com", as: Data.self)
        try await transport.waitForRequests(count: 1)
        async let end: Void = client.invalidate(cancellingTasks: false)
        // New requests are refused from the moment at which the wait begins.
        while (try? await client.get("https://example.com/probe", as: Data.self)) != nil { await Task.yield() }
        gate.open()
        #expect(try await String(decoding: answer, as: UTF8.self) == "done")
        await end
    }

    @Test("an invalid URL, or plain http with pinned certificates, fails the request")
    func flaws() async {
        func code(_ client: HTTPSessionManager, _ path: String = "a") async -> CurlewError.Code? {
            await client.request(.get, path).response().error?.code
        }
        #expect(
            await code(HTTPSessionManager(baseURL: "https://exa mple.com:port/", transport: Self.echo)) == .invalidURL)
        let pinned = SecurityPolicy(pinning: .publicKey)
        #expect(
            await code(HTTPSessionManager(baseURL: "http://example.com", securityPolicy: pinned, transport: Self.echo))
                == .requestCreationFailed)
        let baseless = HTTPSessionManager(securityPolicy: pinned, transport: Self.echo)
        #expect(await code(baseless, "http://example.com/a") == .requestCreationFailed)
        #expect(await code(baseless, "https://example.com/a") == nil)
        let based = HTTPSessionManager(
            baseURL: "https://example.com", securityPolicy: pinned, transport: Self.echo)
        #expect(await code(based) == nil)
        #expect(await code(based, "http://example.com/a") == .requestCreationFailed)
        #expect(await based.download("http://example.com/a").response().error?.code == .requestCreationFailed)
        let form = based.upload(.post, "http://example.com/a") { $0.append(Data("b".utf8), withName: "a") }
        #expect(await form.response().error?.code == .requestCreationFailed)
    }

    private struct InsecureEncoder: ParameterEncoding, ParameterEncoder {
        func encode(_ request: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
            try insecure(request.asURLRequest())
        }

        func encode<Value: Encodable & Sendable>(_ parameters: Value?, into request: URLRequest) throws -> URLRequest {
            insecure(request)
        }

        private func insecure(_ request: URLRequest) -> URLRequest {
            var request = request
            request.url = URL(string: "http://example.com/a")
            return request
        }
    }

    @Test("with pinned certificates an encoder cannot change the URL to http")
    func insecureEncoder() async {
        let client = HTTPSessionManager(
            baseURL: "https://example.com", securityPolicy: SecurityPolicy(pinning: .publicKey), transport: Self.echo)
        client.defaults.body = .custom(InsecureEncoder(), InsecureEncoder())
        #expect(
            await client.request(.post, "a", parameters: ["b": 1]).response().error?.code == .requestCreationFailed)
        #expect(
            await client.request(.post, "a", sending: Person(name: "Ada")).response().error?.code
                == .requestCreationFailed)
    }

    @Test("with pinned certificates a redirect to http is refused")
    func insecureRedirect() async {
        func code(_ policy: SecurityPolicy) async -> CurlewError.Code? {
            let client = HTTPSessionManager(
                baseURL: "https://example.com",
                configuration: SessionConfiguration { $0.redirects.allowsInsecure = true },
                securityPolicy: policy,
                transport: {
                    MockTransport { request in
                        request.path == "/old" ? .redirect(to: "http://example.com/new") : .text("new")
                    }
                }
            )
            return await client.request(.get, "old").response().error?.code
        }
        #expect(await code(SecurityPolicy()) == nil)
        #expect(await code(SecurityPolicy(pinning: .publicKey)) == .redirectRefused)
    }

    @Test("an endpoint defines the request and the type of its response")
    func endpoints() async throws {
        let client = HTTPSessionManager(
            baseURL: "https://example.com",
            transport: {
                MockTransport { request in
                    request.method == .get
                        ? .json(Person(name: request.path)) : .data(request.body, type: "application/json")
                }
            })
        #expect(try await client.send(Endpoint<Person>("people/1")).name == "/people/1")
        let ada = Person(name: "Ada")
        let made = Endpoint<Person>("people", sending: ada) { $0.body = .json }
        #expect(try await client.send(made) == ada)
    }

    @Test("progress is reported")
    func progress() async throws {
        let seen = Recorded<Int64>()
        let queue = DispatchQueue(label: "progress")
        let configuration = SessionConfiguration { $0.completionQueue = queue }
        let client = HTTPSessionManager(configuration: configuration, transport: Self.echo)
        _ = try await client.get("https://example.com/p", as: Data.self, progress: { seen.note($0.completedUnitCount) })
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        #expect(try #require(seen.all.last) > 0)
    }
}

extension Data {
    fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}
