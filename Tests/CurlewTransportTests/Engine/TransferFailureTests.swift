import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("What libcurl's result means")
struct TransferFailureTests {
    /// libcurl may make another connection for a request that was sent: a re-used one was closed without an answer.
    @Test func libcurlsOwnTimeLimitIsThatOfConnections() throws {
        try withEngineParts { parts in
            let (transfer, easy) = try parts.prepared("http://a.example/")
            transfer.runs(on: easy)
            transfer.clocks.queued(at: parts.transfers.now)
            transfer.clocks.connectionStarted(at: parts.transfers.now)
            let connecting = transfer.failure(for: 28, easy)
            #expect(connecting.code == .connectTimedOut)
            transfer.clocks.requestSent(at: parts.transfers.now)
            let again = transfer.failure(for: 28, easy)
            #expect(again.code == .connectTimedOut)
            #expect(again.phase == .connect)
            #expect(again.native?.number == 28)
        }
    }
}
