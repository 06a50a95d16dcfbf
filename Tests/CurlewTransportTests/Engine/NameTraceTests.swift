import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("The trace while names are resolved over HTTPS")
struct NameTraceTests {
    @Test("the trace is off if libcurl would write it to stderr, until the connection's socket is opened")
    func muted() throws {
        let deaf = try DeafListener()
        defer { deaf.close() }
        try withEngineParts {
            $0.dns.dohURL = URL(string: "https://127.0.0.1:9/dns-query")
        } _: { parts in
            defer { parts.transfers.closeAll() }
            // libcurl opens a socket at once for a host that is an address.
            let transfer = try parts.transfer("http://127.0.0.1:\(deaf.port)/")
            parts.transfers.start(transfer)
            let easy = try #require(transfer.easy)
            easy.setTrace(.work)
            transfer.resolverStarts(parts.transfers)
            #expect(easy.isTracing == !Capabilities.ofLibcurl.quirks.tracesDoHToStderr)
            let multi = try #require(parts.handles.multi(at: easy.multi))
            for _ in 0..<4 { multi.timerExpired() }
            #expect(parts.sockets.poller.openedCount == 1)
            #expect(easy.isTracing)
        }
    }

    @Test("the trace stays on if libcurl resolves names itself")
    func untouched() throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let transfer = try parts.transfer("http://a.example/")
            parts.transfers.start(transfer)
            let easy = try #require(transfer.easy)
            easy.setTrace(.work)
            transfer.resolverStarts(parts.transfers)
            #expect(easy.isTracing)
        }
    }
}
