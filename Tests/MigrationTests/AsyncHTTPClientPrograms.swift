import Curlew
import CurlewTesting
import Foundation
import Testing

/// Programs of servers that were written for AsyncHTTPClient.
@Suite(.timeLimit(.minutes(4)))
struct AsyncHTTPClientPrograms {
    let server: TestServer

    init() throws { server = try TestServer() }

    // 46: execute with a deadline, collect up to a limit.
    @Test func executes() async throws {
        server.route("/items", methods: [.post]) { request in .data(request.body, type: "application/json") }
        let created = try await Session.default
            .request(server.url("/items"), method: .post, parameters: Item(id: 9), encoder: .json)
            .timeouts { $0.total = .seconds(30) }
            .maximumBodySize(1024 * 1024)
            .decode(Item.self)
        #expect(created.id == 9)
        do {
            _ = try await Session.default.request(server.url("/bytes/5000")).maximumBodySize(1000).data()
            Issue.record("no error")
        } catch {
            #expect(error.code == .limitExceeded)
        }
    }

    // 47: the head first, then the body piece by piece.
    @Test func streamsABody() async throws {
        let stream = Session.default.streamRequest(server.url("/bytes/200000"))
        let head = try await stream.head()
        let expectedBytes = head.headers["Content-Length"].flatMap(Int.init)
        var receivedBytes = 0
        for try await buffer in stream.chunks { receivedBytes += buffer.count }
        #expect(head.status == 200)
        #expect(receivedBytes == expectedBytes)
    }

    // 48: a body that is produced while it is sent.
    @Test func sendsASequence() async throws {
        let rows = AsyncStream<Data> { continuation in
            for number in 1...3 { continuation.yield(Data("\(number)\n".utf8)) }
            continuation.finish()
        }
        let echo = try await Session.default.upload(
            rows, to: server.url("/anything"), headers: [.contentType("text/csv")]
        )
        .decode(Echo.self)
        #expect(echo.data == "1\n2\n3\n")
    }

    // 49: a separate client with limits, which is shut down.
    @Test func configuresAClient() async throws {
        let client = Session(
            configuration: SessionConfiguration {
                $0.timeouts = Timeouts(connect: .seconds(5), firstByte: .milliseconds(300), idle: .milliseconds(300))
                $0.redirects = RedirectPolicy(limit: 2)
                $0.maximumConnectionsPerHost = 2
                $0.httpVersion = .http1_1
            })
        do {
            _ = try await client.request(server.url("/hang")).data()
            Issue.record("no error")
        } catch {
            #expect(error.isTimeout)
        }
        do {
            _ = try await client.request(server.url("/redirect/5")).data()
            Issue.record("no error")
        } catch {
            #expect(error.code == .tooManyRedirects)
        }
        let unfollowed = await client.request(server.url("/redirect/1")).redirect(using: .doNotFollow).response()
        #expect(unfollowed.head?.status == 302)
        await client.invalidate()
    }

    // 50: many requests at once in a client with a scope.
    @Test func fansOut() async throws {
        server.route("/items/{id}") { request in .json(Item(id: Int(request.parameters["id"] ?? "") ?? 0)) }
        let sum = try await withSession { client in
            try await withThrowingTaskGroup(of: Item.self) { group in
                for id in 1...20 {
                    group.addTask { try await client.request(server.url("/items/\(id)")).decode(Item.self) }
                }
                return try await group.reduce(0) { $0 + $1.id }
            }
        }
        #expect(sum == 210)
    }
}
