import Curlew
import CurlewAFNetworking
import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@Suite("Hooks of a session", .timeLimit(.minutes(4)))
struct SessionHooksTests {
    private func session(_ transport: (any Transport)? = nil, _ set: (inout SessionHooks) -> Void) -> Session {
        var hooks = SessionHooks()
        set(&hooks)
        let made = hooks
        return Session(
            configuration: SessionConfiguration {
                $0.hooks = made
                $0.completionQueue = DispatchQueue(label: "hooks")
            },
            transport: transport
        )
    }

    @Test("the hook for the end of a session is called once")
    func invalidation() async {
        let told = Recorded<String?>()
        let gone = Gate()
        var hooks = SessionHooks()
        hooks.sessionDidBecomeInvalid = {
            told.note($0.identifier)
            gone.open()
        }
        let made = hooks
        let session = Session(
            configuration: SessionConfiguration {
                $0.identifier = "mine"
                $0.hooks = made
                $0.completionQueue = DispatchQueue(label: "hooks")
            })
        await session.invalidate()
        await session.invalidate()
        try? await gone.wait()
        #expect(told.all == ["mine"])
    }

    @Test("redirects are decided by the session's hook, unless the request has a handler")
    func redirects() async throws {
        let transport = MockTransport { request in
            request.path == "/old"
                ? MockResponse(status: 302, headers: ["Location": "/new"]) : .text(request.url.absoluteString)
        }
        let session = session(transport) { hooks in
            hooks.redirect = { _, response, proposed in
                guard response.statusCode == 302, var changed = proposed.url else { return nil }
                changed.append(path: "er")
                return URLRequest(url: changed)
            }
        }
        #expect(try await session.request("https://e.com/old").string() == "https://e.com/new/er")
        let own = session.request("https://e.com/old").redirect(using: .doNotFollow).acceptingAnyStatus()
        _ = try await own.data()
        #expect(own.response?.statusCode == 302)
        let none = self.session(transport) { $0.redirect = { _, _, _ in nil } }
        #expect(await none.request("https://e.com/old").response().response?.statusCode == 302)
    }

    @Test("a response can be refused by its head")
    func disposition() async throws {
        let session = session(MockTransport { _ in .text("body") }) { hooks in
            hooks.responseDisposition = { request, response in
                request.taskDescription == "unwanted" && response.statusCode == 200 ? .cancel : .allow
            }
        }
        #expect(try await session.request("https://e.com").string() == "body")
        let unwanted = session.request("https://e.com")
        unwanted.taskDescription = "unwanted"
        #expect(await unwanted.response().error?.code == .cancelled)
        // The request's own hook takes precedence over the session's.
        let own = session.request("https://e.com").onHTTPResponse { (_: HTTPURLResponse) async in .allow }
        own.taskDescription = "unwanted"
        #expect(try await own.string() == "body")
    }

    // MARK: Becoming a download

    @Test("a data request's body can be turned into a file")
    func becomesDownload() async throws {
        let server = try TestServer()
        let scratch = try ScratchDirectory()
        server.route("/big") { _ in .bytes(3_000_000, seed: 7) }
        let moved = Recorded<Bool>()
        let session = session { hooks in
            hooks.responseDisposition = { _, response in
                response.expectedContentLength > 1_000_000 ? .becomeDownload : .allow
            }
            hooks.didBecomeDownload = {
                moved.note(FileManager.default.fileExists(atPath: $1.path(percentEncoded: false)) && $0.data == nil)
            }
            hooks.downloadDestination = { _, _, _ in (scratch.file("big"), []) }
        }
        let request = session.request(server.url("/big").absoluteString).maximumBodySize(1000)
        let file = try await request.file()
        #expect(file == scratch.file("big") && request.fileURL == file)
        #expect(moved.all == [true])
        #expect(try Data(contentsOf: file) == TestServer.patternBytes(count: 3_000_000, seed: 7))
        #expect(try await request.data().count == 3_000_000, "serializers read it from there")
        #expect(scratch.names == ["big"])
        let small = session.request(server.url("/bytes/10").absoluteString)
        #expect(try await small.data().count == 10 && small.fileURL == nil)
    }

    @Test("response handlers of a request that becomes a download get the file's contents")
    func becomesDownloadForHandlers() async throws {
        let session = Session(transport: MockTransport { _ in .json(["a": 1]) })
        let request = session.request("https://e.com").onHTTPResponse { (_: HTTPURLResponse) async in .becomeDownload }
        let response = await request.serializingDecodable([String: Int].self).response
        #expect(response.value == ["a": 1])
        let file = try #require(request.fileURL)
        #expect(try Data(contentsOf: file) == response.data)
        try FileManager.default.removeItem(at: file)
    }

    @Test("a request that becomes a download is validated, and monitors get its file")
    func validatedFile() async throws {
        let validated = ValidatedFiles()
        let session = Session(transport: MockTransport { _ in .text("no image") }, eventMonitors: [validated])
        func request(accepting type: String) -> DataRequest {
            session.request("https://e.com")
                .onHTTPResponse { (_: HTTPURLResponse) async in .becomeDownload }
                .validate(contentType: [type])
        }
        let error = await #expect(throws: CurlewError.self) { try await request(accepting: "image/png").file() }
        #expect(error?.code == .unacceptableContentType)
        let file = try await request(accepting: "text/plain").file()
        try FileManager.default.removeItem(at: file)
        try await eventually { validated.files.all.count == 2 }
        #expect(validated.files.all.allSatisfy { $0 != nil })
    }

    @Test("a redirect that is not followed can be turned into a file, too")
    func heldBackBodyBecomesDownload() async throws {
        let scratch = try ScratchDirectory()
        let asked = Recorded<Int>()
        let transport = MockTransport { _ in
            var page = MockResponse.text("moved", status: 302)
            page.headers.append(name: "Location", value: "https://e.com/there")
            return page
        }
        let session = session(transport) { hooks in
            hooks.responseDisposition = { _, response in
                asked.note(response.statusCode)
                return .becomeDownload
            }
            hooks.downloadDestination = { _, _, _ in (scratch.file("page"), []) }
        }
        func ask() -> DataRequest {
            session.request("https://e.com/").redirect(using: .doNotFollow).acceptingAnyStatus()
        }
        #expect(try await ask().file() == scratch.file("page"))
        #expect(try Data(contentsOf: scratch.file("page")) == Data("moved".utf8))
        #expect(asked.all == [302])
        // A file that cannot be created at its destination fails the request.
        let error = await #expect(throws: CurlewError.self) { _ = try await ask().file() }
        #expect(error?.code == .destinationExists)
        #expect(scratch.names == ["page"])
    }

    @Test("a refused or broken body leaves no file")
    func becomesDownloadAndFails() async throws {
        let scratch = try ScratchDirectory()
        let transport = MockTransport { request in
            let page = MockResponse.text("an error page", status: request.path == "/404" ? 404 : 200)
            return request.path == "/cut" ? page.failing(with: CurlewError(.truncated, phase: .receive)) : page
        }
        let session = session(transport) { hooks in
            hooks.responseDisposition = { _, _ in .becomeDownload }
            hooks.downloadDestination = { _, _, _ in (scratch.file("f"), []) }
        }
        for (path, code) in [("404", CurlewError.Code.unacceptableStatus), ("cut", .truncated)] {
            let error = await #expect(throws: CurlewError.self) {
                _ = try await session.request("https://e.com/\(path)").file()
            }
            #expect(error?.code == code)
            #expect(scratch.names.isEmpty, "\(path)")
        }
        _ = try await session.request("https://e.com/").file()
        let again = await #expect(throws: CurlewError.self) { _ = try await session.request("https://e.com/").file() }
        #expect(again?.code == .destinationExists)
        #expect(scratch.names == ["f"])
    }

    @Test("a late decision to become a download keeps the whole body, also if the request was suspended")
    func becomesDownloadLate() async throws {
        let server = try TestServer()
        let scratch = try ScratchDirectory()
        let session = session { hooks in
            hooks.responseDisposition = { request, _ in
                request.suspend()
                for _ in 0..<1000 { await Task.yield() }
                Task { request.resume() }
                return .becomeDownload
            }
            hooks.downloadDestination = { _, _, _ in (scratch.file("late"), []) }
        }
        for _ in 0..<10 {
            let file = try await session.request(server.url("/bytes/300000").absoluteString).file()
            #expect(try Data(contentsOf: file) == TestServer.patternBytes(count: 300_000))
            try FileManager.default.removeItem(at: file)
        }
    }

    @Test("a response without a body has no file")
    func emptyBodyBecomesNoDownload() async throws {
        let scratch = try ScratchDirectory()
        let session = session(MockTransport { _ in .status(200) }) { hooks in
            hooks.responseDisposition = { _, _ in .becomeDownload }
            hooks.downloadDestination = { _, _, _ in (scratch.file("f"), []) }
        }
        let request = session.request("https://e.com/")
        #expect(try await request.data().isEmpty)
        #expect(request.fileURL == nil && scratch.names.isEmpty)
    }

    @Test("a request that is cancelled while its file is opened leaves no file")
    func becomesDownloadAndIsCancelled() async throws {
        let server = try TestServer()
        let scratch = try ScratchDirectory()
        let session = session { hooks in
            hooks.responseDisposition = { _, _ in .becomeDownload }
            hooks.downloadDestination = { request, _, _ in
                request.cancel()
                return (scratch.file("f"), [])
            }
        }
        let error = await #expect(throws: CurlewError.self) {
            try await session.request(server.url("/bytes/300000").absoluteString).file()
        }
        #expect(error?.code == .cancelled)
        try await eventually { scratch.names.isEmpty }
    }

    @Test("the session's download destination overrides the request's")
    func destination() async throws {
        let scratch = try ScratchDirectory()
        let session = session(MockTransport { .text($0.path) }) { hooks in
            hooks.downloadDestination = { request, _, _ in
                request.taskDescription.map { (scratch.file($0), []) }
            }
        }
        let own: DownloadRequest.Destination = { _, _ in (scratch.file("own"), []) }
        #expect(try await session.download("https://e.com/a", to: own).file() == scratch.file("own"))
        let named = session.download("https://e.com/b", to: own)
        named.taskDescription = "session"
        #expect(try await named.file() == scratch.file("session"))
    }

    // MARK: Bodies that are needed again

    private static let pieces = ["one ", "two"]

    private static func body() -> AsyncStream<Data> {
        AsyncStream { continuation in
            for piece in pieces { continuation.yield(Data(piece.utf8)) }
            continuation.finish()
        }
    }

    @Test("a redirect that keeps a streamed body asks the session's hook for a new one", arguments: [true, false])
    func redirectedStream(hasHook: Bool) async throws {
        let server = try TestServer()
        server.route("/old") { _ in .redirect(to: "/new", status: 307) }
        server.route("/new") { .text(String(decoding: $0.body, as: UTF8.self)) }
        let asked = Recorded<Int>()
        let session = session { hooks in
            guard hasHook else { return }
            hooks.newBodyStream = { request in
                asked.note(request.tasks.count)
                return .inputStream(InputStream(data: Data("again".utf8)))
            }
        }
        let response = await session.upload(Self.body(), to: server.url("/old")).response()
        #expect(response.error?.code == (hasHook ? nil : .bodyUnavailable))
        #expect(response.data.map { String(decoding: $0, as: UTF8.self) } == (hasHook ? "again" : nil))
        #expect(asked.all.count == (hasHook ? 1 : 0))
    }

    @Test("a retry with a streamed body asks the session's hook for a new one")
    func retriedStream() async throws {
        let server = try TestServer()
        let turns = Lock(0)
        server.route("/up") { request in
            let turn = turns.withLock { turn -> Int in
                turn += 1
                return turn
            }
            return turn == 1 ? .status(503) : .text(String(decoding: request.body, as: UTF8.self))
        }
        let session = session { $0.newBodyStream = { _ in .data(Data("again".utf8)) } }
        let answer = try await session.upload(Self.body(), to: server.url("/up"))
            .validate().retry(using: CurlewAlamofire.Retrier { _, _, _, completion in completion(.retry) }).string()
        #expect(answer == "again" && server.requests.map(\.bodyByteCount) == [7, 5])
    }

    @Test("the total timeout ends the hook for a new body")
    func hookForNewBodyEndsWithTotalTimeout() async throws {
        let (asked, answer) = (Gate(), Gate())
        let session = session(MockTransport { _ in .redirect(to: "/new", status: 307) }) { hooks in
            hooks.newBodyStream = { _ in
                asked.open()
                // Throws when the task is cancelled: nobody opens the gate.
                try? await answer.wait()
                return .data(Data("again".utf8))
            }
        }
        let response = await session.upload(Self.body(), to: "https://e.com/old")
            .timeouts { $0.total = .seconds(2) }.response()
        #expect(response.error?.code == .totalTimedOut)
        #expect(asked.isOpen && answer.waiterCount == 0)
    }

    // MARK: Challenges

    @Test("a challenge is answered with credentials, and the hook is called again if they are wrong")
    func challenge() async throws {
        let server = try TestServer()
        let seen = Recorded<String>()
        let session = session { hooks in
            hooks.challenge = { challenge in
                seen.note(
                    "\(challenge.failureCount) \(challenge.challenges.first?.scheme ?? "-") \(challenge.response.statusCode)"
                )
                let password = challenge.failureCount == 0 ? "wrong" : "passwd"
                return .use(URLCredential(user: "user", password: password, persistence: .none))
            }
        }
        let request = session.request(server.url("/basic-auth/user/passwd").absoluteString)
        let response = await request.response()
        #expect(response.response?.statusCode == 200)
        #expect(seen.all == ["0 Basic 401", "1 Basic 401"])
        #expect(await session.activeRequests.isEmpty)
    }

    @Test("a challenge can be delivered, refused or cancelled; without a hook it is the response")
    func otherAnswers() async throws {
        struct Refusal: Error {}
        let transport = MockTransport { _ in
            .text("who?", status: 401).header("WWW-Authenticate", "Basic realm=\"r\"")
        }
        func response(_ answer: ServerChallenge.Answer?) async -> DataResponse<Data?, CurlewError> {
            await session(transport) { hooks in
                if let answer { hooks.challenge = { _ in answer } }
            }
            .request("https://e.com").response()
        }
        for answer in [nil, ServerChallenge.Answer.deliver] {
            let delivered = await response(answer)
            #expect(delivered.response?.statusCode == 401 && delivered.data == Data("who?".utf8))
        }
        let failed = await response(.fail(Refusal()))
        #expect(failed.error?.code == .authenticationFailed && failed.error?.underlying is Refusal)
        #expect(await response(.cancel).error?.code == .cancelled)
        let stubborn = await response(.use(TransferAuthentication(username: "a", password: "b")))
        #expect(stubborn.response?.statusCode == 401)
        #expect(transport.requests.count == 4 + 1 + ServerChallenge.limit)
    }
}

/// Records the file that each validation was given.
private final class ValidatedFiles: Curlew.EventMonitor {
    let queue = DispatchQueue(label: "validated files")
    let files = Recorded<URL?>()

    func request(
        _ request: Request, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) {
        files.note(fileURL)
    }
}
