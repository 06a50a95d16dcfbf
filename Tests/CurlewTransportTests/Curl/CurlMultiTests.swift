import CurlewCore
import Testing

@testable import CurlewTransport

@Suite("Multi handles")
struct CurlMultiTests {
    /// The time of a turn is older than libcurl's, so a timer may expire in the loop before it does in libcurl. libcurl
    /// 8.10.0 to 8.11.0 does not report it again.
    @Test func aTimerThatExpiresTooEarlyIsSetAgain() throws {
        try withEngineParts { parts in
            let deaf = try DeafListener()
            defer { deaf.close() }
            let (transfer, easy) = try parts.prepared("http://127.0.0.1:\(deaf.port)/")
            let multi = try #require(parts.handles.multi(for: transfer))
            easy.transfer = transfer
            transfer.attach(to: easy)
            _ = multi.add(easy)
            defer {
                multi.remove(easy)
                easy.transfer = nil
                transfer.end()
            }
            // The first timers start the transfer. From then on, the connection's timer is the nearest.
            for _ in 0..<4 { multi.timerExpired() }
            #expect(multi.deadline != .never)
            multi.timerExpired()
            #expect(multi.deadline != .never)
            // The state after a call for which libcurl has reported no timer.
            multi.deadline = .never
            multi.askForTimer()
            #expect(multi.deadline != .never)
            #expect(multi.deadline > parts.sockets.now)
        }
    }

    /// The next transfer of a handle may run in another multi handle. libcurl reads a handle's list of addresses once,
    /// into the cache of the multi handle that runs it.
    @Test func eachMultiHandleGetsOverriddenAddresses() throws {
        let deaf = try DeafListener()
        defer { deaf.close() }
        try withEngineParts({ $0.dns.overrides = ["over.test": ["127.0.0.1"]] }) { parts in
            let url = "http://over.test:\(deaf.port)/"
            let multis = try (0..<2).map { index in
                try #require(CurlMulti(index: index, delegate: parts.sockets, limits: nil))
            }
            let (first, easy) = try parts.prepared(url)
            for (round, index) in [0, 1, 1, 0].enumerated() {
                let transfer = try round == 0 ? first : parts.transfer(url)
                if round > 0 { _ = easy.apply(transfer, share: nil) }
                easy.transfer = transfer
                transfer.attach(to: easy)
                _ = multis[index].add(easy)
                // A socket is opened at once if no resolver has to be asked.
                for _ in 0..<4 { multis[index].timerExpired() }
                #expect(parts.sockets.poller.openedCount == round + 1)
                multis[index].remove(easy)
                easy.transfer = nil
                transfer.end()
            }
        }
    }
}
