import Curlew
import CurlewCore
import CurlewTesting
import Foundation
import Testing

/// The cache over a real transport, including connections that fail.
@Suite struct CacheOverSocketsTests {
    private let server: TestServer
    private let cache = ResponseCache()
    private let session: Session

    init() throws {
        server = try TestServer()
        let cache = cache
        session = Session(configuration: SessionConfiguration { $0.cache = cache })
    }

    private func get(_ path: String = "/a") async -> DataResponse<Data?, CurlewError> {
        await session.request(server.url(path)).response()
    }

    private static let body = Data((0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })

    private func whole(_ control: String = "max-age=600") -> TestServer.Response {
        .data(Self.body).header("Cache-Control", control)
    }

    @Test func aThousandRequestsAtOnceSendOne() async throws {
        let gate = Gate()
        server.script(
            "/a", .text("hello").header("Cache-Control", "max-age=600").stalling(until: gate, at: .beforeHead))
        let texts = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<1000 { group.addTask { await get().text } }
            _ = try? await server.waitForRequests(count: 1)
            gate.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts.allSatisfy { $0 == "hello" })
        #expect(server.requests.count == 1)
    }

    @Test func responseFromRefusedAddressIsNotServedToSession() async throws {
        server.script("/a", .text("inside").header("Cache-Control", "max-age=600"))
        #expect(await get().text == "inside")
        #expect(await get().cacheStatus == .hit)
        let cache = cache
        let strict = Session(
            configuration: SessionConfiguration {
                $0.cache = cache
                $0.addressPolicy = .publicOnly
            })
        for _ in 0..<2 {
            #expect(await strict.request(server.url("/a")).response().error?.code == .addressRefused)
        }
        let stored = await strict.request(server.url("/a")).cachePolicy(.onlyStored).response()
        #expect(stored.error?.code == .notInCache)
        #expect(server.requests.count == 1)
    }

    static let faults: [(TestServer.Fault.Action, after: Int64)] = [
        (.close, 0), (.close, 1000), (.close, 1_500_000), (.close, 1_999_999), (.reset, 1_500_000),
    ]

    @Test(arguments: faults.indices) func aBodyThatBreaksOffIsNotStored(at index: Int) async throws {
        let (action, after) = Self.faults[index]
        server.script("/a", whole().faulting(action, at: .inBody(after: after)), whole())
        #expect(await get().error != nil)
        #expect(await cache.store.size() == 0)
        let second = await get()
        #expect(second.data == Self.body && second.cacheStatus == .miss)
        let third = await get()
        #expect(third.data == Self.body && third.cacheStatus == .hit)
        #expect(server.requests.count == 2)
    }

    @Test func earlyStopOfReaderKeepsResponseForOthers() async throws {
        let gate = Gate()
        server.script("/a", whole().stalling(until: gate, at: .inBody(after: 1_000_000)), whole())
        let url = server.url("/a")
        let reader = Task { [session] in
            for try await _ in session.streamRequest(url).chunks { return }
        }
        try await reader.value
        let other = await get()
        #expect(other.data == Self.body && other.cacheStatus == .miss)
        #expect(await get().cacheStatus == .hit)
        gate.open()
    }

    @Test func waiterSendsItsOwnRequestIfReaderStopsEarly() async throws {
        let gate = Gate()
        server.script("/a", whole().stalling(until: gate, at: .inBody(after: 1_000_000)), whole())
        let request = session.streamRequest(server.url("/a"))
        var chunks = request.chunks.makeAsyncIterator()
        _ = try await chunks.next()
        async let other = get()
        request.cancel()
        #expect(await other.data == Self.body)
        gate.open()
    }

    @Test func staleResponseIsServedIfServerIsGone() async throws {
        server.script("/a", .text("hello").header("Cache-Control", "max-age=0, stale-if-error=600"))
        #expect(await get().text == "hello")
        server.stop()
        let response = await get()
        #expect(response.text == "hello" && response.cacheStatus == .stale(.ifError))
    }

    @Test func staleResponseReplacesLargeErrorResponse() async throws {
        server.script(
            "/a", .text("hello").header("Cache-Control", "max-age=0, stale-if-error=600"),
            whole("no-store").changed { $0.status = 503 }, .text("again"))
        #expect(await get().text == "hello")
        #expect(await get().text == "hello")
        // The abandoned connection does not delay the next request.
        #expect(await get().text == "again")
    }
}
