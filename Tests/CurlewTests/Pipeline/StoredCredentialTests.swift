import Curlew
import CurlewTesting
import Foundation
import Testing

/// Credentials that one request was given and that later requests use.
@Suite("Stored credentials", .timeLimit(.minutes(4)))
struct StoredCredentialTests {
    private func withSession(
        _ body: (Session, TestServer) async throws -> Void
    ) async throws {
        let server = try TestServer()
        let session = Session(configuration: SessionConfiguration { $0.proxy = .none })
        try await body(session, server)
        await session.invalidate()
        server.stop()
    }

    @Test func laterRequestsInTheRealmGetStoredCredentials() async throws {
        try await withSession { session, server in
            server.protect("/a/*")
            server.protect("/b/*")
            server.protect("/c/*", realm: "another")
            _ = try await session.request(server.url("/a/page")).authenticate(username: "ada", password: "secret")
                .data()
            #expect(server.requests.map { $0.headers["Authorization"] != nil } == [false, true])
            // Requests below a known folder send the credentials without a challenge.
            _ = try await session.request(server.url("/a/other")).data()
            #expect(server.requests.count == 3)
            // Other requests send the credentials after a challenge.
            let response = await session.request(server.url("/b/page")).response()
            #expect(response.data == Data("in".utf8))
            #expect(response.head?.status == 200)
            #expect(server.requests.map { $0.headers["Authorization"] != nil }.suffix(2) == [false, true])
            // Another realm receives no credentials.
            #expect(await session.request(server.url("/c/page")).response().head?.status == 401)
            #expect(server.requests.last?.headers["Authorization"] == nil)
        }
    }

    @Test func uploadIsSentAgainAfterTheChallenge() async throws {
        try await withSession { session, server in
            server.protect("/a/*")
            server.protect("/b")
            _ = try await session.request(server.url("/a/page")).authenticate(username: "ada", password: "secret")
                .data()
            let body = Data(repeating: 7, count: 200_000)
            let echoed = try await session.upload(body, to: server.url("/b")).data()
            #expect(echoed == body)
        }
    }

    @Test func anotherOriginGetsNoCredentials() async throws {
        try await withSession { session, server in
            server.protect("/a/*")
            _ = try await session.request(server.url("/a/page")).authenticate(username: "ada", password: "secret")
                .data()
            let other = try TestServer()
            other.protect("/a/*")
            #expect(await session.request(other.url("/a/page")).response().head?.status == 401)
            #expect(other.requests.allSatisfy { $0.headers["Authorization"] == nil })
            // A redirect does not carry credentials to another server either.
            server.script("/leave", .redirect(to: other.url("/a/page").absoluteString))
            #expect(await session.request(server.url("/leave")).response().head?.status == 401)
            #expect(other.requests.allSatisfy { $0.headers["Authorization"] == nil })
            other.stop()
        }
    }

    @Test func credentialsOfRequestOverrideStoredOnes() async throws {
        try await withSession { session, server in
            server.protect("/a/*")
            _ = try await session.request(server.url("/a/page")).authenticate(username: "ada", password: "secret")
                .data()
            let own = await session.request(server.url("/a/page"), headers: ["Authorization": "Bearer x"]).response()
            #expect(own.head?.status == 401)
            #expect(server.requests.last?.headers["Authorization"] == "Bearer x")
            let other = await session.request(server.url("/a/page")).authenticate(username: "bob", password: "p")
                .response()
            #expect(other.head?.status == 401)
            // The refused requests changed nothing for other requests.
            #expect(await session.request(server.url("/a/page")).response().head?.status == 200)
        }
    }

    @Test func rejectedStoredCredentialIsForgotten() async throws {
        try await withSession { session, server in
            server.protect("/a/*")
            _ = try await session.request(server.url("/a/page")).authenticate(username: "ada", password: "secret")
                .data()
            server.route("/a/*") { _ in .text("no", status: 401).header("WWW-Authenticate", "Basic realm=\"r\"") }
            #expect(await session.request(server.url("/a/page")).response().head?.status == 401)
            let sent = server.requests.count
            #expect(await session.request(server.url("/a/page")).response().head?.status == 401)
            #expect(server.requests.count == sent + 1)
            #expect(server.requests.last?.headers["Authorization"] == nil)
        }
    }

    @Test func streamsAndDownloadsDoNotSeeTheChallenge() async throws {
        try await withSession { session, server in
            server.protect("/a/*")
            server.protect("/b")
            server.protect("/c")
            _ = try await session.request(server.url("/a/page")).authenticate(username: "ada", password: "secret")
                .data()
            var text = ""
            for try await line in session.streamRequest(server.url("/b")).lines { text += line }
            #expect(text == "in")
            let file = try await session.download(server.url("/c")).file()
            #expect(try String(contentsOf: file, encoding: .utf8) == "in")
            try FileManager.default.removeItem(at: file)
        }
    }
}
