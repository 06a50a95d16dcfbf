import Curlew
import CurlewAlamofire
import CurlewTesting
import Foundation
import Testing

/// The code of a body's sequence sees the task-local values of the requesting task.
@Suite(.timeLimit(.minutes(4)))
struct SequenceTaskLocalTests {
    @TaskLocal private static var mark = "none"

    /// Sends the task-local value at the start and at each piece.
    private struct Marks: AsyncSequence, Sendable {
        struct AsyncIterator: AsyncIteratorProtocol {
            private let first = mark
            private var left = 3

            mutating func next() async throws -> Data? {
                await Task.yield()
                guard left > 0 else { return nil }
                left -= 1
                return Data("\(first)/\(mark) ".utf8)
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
    }

    @Test func awaitingTaskProvidesTaskLocalValues() async throws {
        let server = try TestServer()
        let request = Session().upload(Marks(), to: server.url("/anything"))
        _ = try await Self.$mark.withValue("mine") { try await request.data() }
        #expect(server.requests.first?.bodyText == "mine/mine mine/mine mine/mine ")
    }

    @Test func taskThatAddsHandlerProvidesTaskLocalValues() async throws {
        let server = try TestServer()
        let value = await Self.$mark.withValue("mine") {
            await Session().upload(Marks(), to: server.url("/anything")).serializingData().response
        }
        #expect(value.error == nil)
        #expect(server.requests.first?.bodyText == "mine/mine mine/mine mine/mine ")
    }

    /// A sequence that is never read is released with its request.
    @Test func unreadSequenceIsReleasedWithItsRequest() async throws {
        final class Token: Sendable {}
        struct Held: AsyncSequence, Sendable {
            let token: Token
            func makeAsyncIterator() -> AsyncStream<Data>.Iterator { AsyncStream { $0.finish() }.makeAsyncIterator() }
        }
        weak var left: Token?
        func send() async {
            let token = Token()
            left = token
            let transport = MockTransport(collectsBodies: false) { _ in .status(500) }
            let request = Session(transport: transport).upload(Held(token: token), to: "https://example.org/")
            _ = await request.serializingData().response
        }
        await send()
        // A task may end a moment after its result is known.
        try await eventually { left == nil }
    }
}
