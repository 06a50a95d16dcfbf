import CurlewCore
import CurlewTesting
import CurlewTransport
import Dispatch
import Foundation
import Testing

/// libcurl stores a handle's list of addresses twice, and curl_easy_reset clears only one of the two. The handle must
/// not read the other one after the list is freed.
@Suite("Addresses that were never used", .timeLimit(.minutes(1)))
struct UnusedAddressTests {
    @Test func unusedAddressesDoNotAffectNextTransfer() async throws {
        try await withTransport({ $0.dns.overrides = ["over.test": ["127.0.0.1"]] }) { transport, server in
            let named = try #require(URL(string: "http://over.test:\(server.port)/get"))
            for _ in 0..<20 {
                let (loop, isHeld) = (DispatchSemaphore(value: 0), AsyncStream<Void>.makeStream())
                let holding = CollectingSink()
                holding.observe { event in
                    guard event == .head else { return }
                    isHeld.continuation.finish()
                    loop.wait()
                }
                async let held = transport.fetch(request(server.url("/get")), holding)
                for await _ in isHeld.stream {}
                // The loop receives these transfers together with their cancellation: libcurl never runs them, and the
                // next transfers get their handles.
                let cancelled = Task {
                    await withTaskGroup(of: Void.self) { group in
                        for _ in 0..<8 { group.addTask { _ = try? await transport.fetch(request(named)) } }
                    }
                }
                for _ in 0..<100 { await Task.yield() }
                cancelled.cancel()
                loop.signal()
                await cancelled.value
                #expect(try await held.outcome.head.status == 200)
                // Sends as many requests at once, so that every handle is used again.
                await withTaskGroup(of: Int?.self) { group in
                    for _ in 0..<8 {
                        group.addTask { try? await transport.fetch(request(server.url("/get"))).outcome.head.status }
                    }
                    for await status in group { #expect(status == 200) }
                }
            }
        }
    }
}
