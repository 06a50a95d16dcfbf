import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Handles")
struct HandlesTests {
    @Test func multiHandlesOfByteConnectionsAreReturned() throws {
        try withEngineParts { parts in
            let handles = parts.handles
            let url = try #require(URL(string: "http://127.0.0.1:1/"))
            let count = Handles.byteConnectionsPerMulti * 2 + 1
            let lent = try (0..<count).map { _ in
                let transfer = try parts.transport.makeTransfer(
                    request(url), NoSink.shared, for: .byteConnection(sendBuffer: 1))
                let easy = try parts.handle(for: transfer)
                let multi = try #require(handles.multi(for: transfer))
                easy.transfer = transfer
                _ = multi.add(easy)
                easy.transfer = nil
                return easy
            }
            #expect(handles.byteConnectionMultis.count == 3)
            for easy in lent.dropFirst(Handles.byteConnectionsPerMulti) { handles.closeByteConnection(of: easy) }
            #expect(handles.byteConnectionMultis.count == 1)
            for easy in lent.prefix(Handles.byteConnectionsPerMulti) { handles.closeByteConnection(of: easy) }
            #expect(handles.byteConnectionMultis.count == 1)
        }
    }
}
