import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Handles that were used before", .timeLimit(.minutes(4)))
struct HandleReuseTests {
    /// libcurl 7.88 keeps the receive buffer of such a handle, and refuses to change its size.
    @Test(
        "What never had a connection leaves a handle that any request can use",
        arguments: [TransferPurpose.file, .stream])
    func afterAFailedLookup(purpose: TransferPurpose) async throws {
        try await withTransport { transport, server in
            let nowhere = try #require(URL(string: "http://nowhere.invalid/"))
            #expect(await transport.failure(request(nowhere)).code == .resolveFailed)
            let answer = try await transport.fetch(request(server.url("/bytes/10")) { $0.options.purpose = purpose })
            #expect(answer.status == 200)
        }
    }
}
