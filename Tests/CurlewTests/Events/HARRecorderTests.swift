import Curlew
import CurlewTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(4)))
struct HARRecorderTests {
    @Test func everyExchangeIsAnEntryWithoutSecrets() async throws {
        let recorder = HARRecorder()
        let transport = MockTransport { $0.path == "/" ? .redirect(to: "/next") : .text("hello") }
        let session = Session(transport: transport, eventMonitors: [recorder])
        _ = try await session.request("https://example.org/?q=1", headers: ["Authorization": "Bearer secret"]).data()
        let archive = try await recorder.archive()
        #expect(!String(decoding: archive, as: UTF8.self).contains("secret"))
        let json = try #require(try JSONSerialization.jsonObject(with: archive) as? [String: Any])
        let log = try #require(json["log"] as? [String: Any])
        #expect(log["version"] as? String == "1.2")
        let entries = try #require(log["entries"] as? [[String: Any]])
        #expect(entries.count == 2)
        let first = try #require(entries.first?["response"] as? [String: Any])
        #expect(first["status"] as? Int == 302)
        #expect(first["redirectURL"] as? String == "https://example.org/next")
        let last = try #require(entries.last?["response"] as? [String: Any])
        #expect((last["content"] as? [String: Any])?["text"] as? String == "hello")
    }

    /// While a request runs, the events of others wait for each other: the archive waits for them.
    @Test func whatHasEndedIsInTheArchiveWhileOthersRun() async throws {
        let recorder = HARRecorder()
        let gate = Gate()
        let transport = MockTransport { request in
            if request.url.path == "/slow" { try await gate.wait() }
            return .text("x")
        }
        let session = Session(transport: transport, eventMonitors: [recorder])
        async let slow = session.request("https://example.org/slow").data()
        try await gate.waitForArrivals(count: 1)
        for count in 1...20 {
            _ = try await session.request("https://example.org/").data()
            let archive = try await recorder.archive()
            let json = try #require(try JSONSerialization.jsonObject(with: archive) as? [String: Any])
            let entries = (json["log"] as? [String: Any])?["entries"] as? [Any]
            #expect(entries?.count == count)
        }
        gate.open()
        _ = try await slow
    }
}
