import CurlewCore
import Testing

@testable import CurlewTransport

@Suite("Multi handles")
struct CurlMultiTests {
    /// A timer can expire before libcurl's own time has come, and libcurl 8.10.0 to 8.11.0 does not repeat it.
    @Test func aTimerThatExpiresTooEarlyIsSetAgain() throws {
        try withEngineParts { parts in
            let deaf = try DeafListener()
            defer { deaf.close() }
            let (transfer, easy) = try parts.prepared("http://127.0.0.1:\(deaf.port)/")
            let multi = try #require(parts.handles.multi(for: transfer))
            easy.transfer = transfer
            transfer.runs(on: easy)
            _ = parts.handles.add(easy, to: multi)
            defer {
                parts.handles.remove(easy)
                transfer.ends()
            }
            // The first ones have it begin; from then on the nearest is that of the connection.
            for _ in 0..<4 { multi.timerExpired() }
            #expect(multi.deadline != .never)
            multi.timerExpired()
            #expect(multi.deadline != .never)
            // As after a call of which libcurl says nothing.
            multi.deadline = .never
            multi.askForTimer()
            #expect(multi.deadline != .never)
            #expect(multi.deadline > parts.sockets.now)
        }
    }

    /// A handle that served a name goes to another multi handle with its next transfer.
    @Test func eachHasTheAddressesOfAName() throws {
        let deaf = try DeafListener()
        defer { deaf.close() }
        try withEngineParts({ $0.dns.overrides = ["over.test": ["127.0.0.1"]] }) { parts in
            let url = "http://over.test:\(deaf.port)/"
            let multis = try (0..<2).map { index in
                try #require(CurlMulti(index: index, wishes: parts.sockets, limits: nil))
            }
            let (first, easy) = try parts.prepared(url)
            for (round, index) in [0, 1, 1, 0].enumerated() {
                let transfer = try round == 0 ? first : parts.transfer(url)
                if round > 0 {
                    _ = easy.apply(
                        transfer, base: parts.transfers.settings.base, material: parts.transfers.settings.material,
                        share: nil)
                }
                easy.transfer = transfer
                transfer.runs(on: easy)
                _ = multis[index].add(easy)
                // A socket is opened at once where no resolver has to be asked.
                for _ in 0..<4 { multis[index].timerExpired() }
                #expect(parts.sockets.openedCount == round + 1)
                multis[index].remove(easy)
                easy.transfer = nil
                transfer.ends()
            }
        }
    }
}
