import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Lifetime of transports", .timeLimit(.minutes(4)))
struct LifetimeTests {
    @Test func shutdownFailsRunningAndLaterRequests() async throws {
        let server = try TestServer()
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        let transport = CurlTransport(configuration: configuration)
        _ = try await transport.fetch(request(server.url("/get")))
        server.script("/never", .hanging, .hanging, .hanging)
        let url = server.url("/never")
        let tasks = (0..<3).map { _ in Task { await transport.failure(request(url)) } }
        try await server.waitForRequests(count: 4)
        await transport.shutdown()
        for task in tasks { #expect(await task.value.code == .sessionClosed) }
        #expect(await transport.failure(request(server.url("/get"))).code == .sessionClosed)
        try await server.waitForOpenConnections(atMost: 0)
        expectNothingLeft(transport)
        #expect(transport.statistics.openSockets == 0)
        #expect(transport.statistics.easyHandlesIdle == 0)
        await transport.shutdown()
    }

    @Test func droppingTheTransportClosesItsConnections() async throws {
        let server = try TestServer()
        var transport: CurlTransport? = CurlTransport()
        _ = try await transport?.fetch(request(server.url("/get")))
        #expect(server.openConnectionCount == 1)
        transport = nil
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func manyTransportsCloseTheirConnections() async throws {
        let server = try TestServer()
        for _ in 0..<50 {
            let transport = CurlTransport()
            _ = try await transport.fetch(request(server.url("/get")))
        }
        try await server.waitForOpenConnections(atMost: 0)
    }
}
