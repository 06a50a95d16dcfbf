import Curlew
import CurlewTesting
import Foundation
import Testing

@Suite("Data received so far", .timeLimit(.minutes(4)))
struct LiveDataTests {
    @Test func requestDataGrowsWhileTheBodyArrives() async throws {
        let gates = [Gate(), Gate()]
        let transport = MockTransport { _ in
            MockResponse(
                body: [
                    .bytes(Data("one ".utf8)), .wait(gates[0]), .bytes(Data("two ".utf8)), .wait(gates[1]),
                    .bytes(Data("three".utf8)),
                ])
        }
        let request = Session(transport: transport).request("https://example.org/")
        #expect(request.data == nil)
        async let body = request.string()
        try await gates[0].waitForArrivals(count: 1)
        #expect(request.data == Data("one ".utf8))
        gates[0].open()
        try await gates[1].waitForArrivals(count: 1)
        #expect(request.data == Data("one two ".utf8))
        gates[1].open()
        #expect(try await body == "one two three")
        #expect(request.data == Data("one two three".utf8))
    }

    @Test func requestDataStartsOverWithEveryAttempt() async throws {
        let gate = Gate()
        let transport = MockTransport(collectsBodies: false)
        transport.enqueue(
            .text("first").failing(with: CurlewError(.receiveFailed, phase: .receive)),
            MockResponse(body: [.bytes(Data("second".utf8)), .wait(gate)])
        )
        let request = Session(transport: transport, interceptor: CountingRetrier(retries: 1))
            .request("https://example.org/")
        async let body = request.string()
        try await gate.waitForArrivals(count: 1)
        #expect(request.data == Data("second".utf8))
        gate.open()
        #expect(try await body == "second")
    }
}
