import Curlew
import CurlewCore
import CurlewTesting
import Foundation
import FoundationNetworking
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

    /// A challenged exchange has no event for its end. The next exchange of its request ends it.
    @Test func anExchangeThatIsAnsweredWithAChallengeIsAnEntry() async throws {
        let recorder = HARRecorder()
        let session = Session(transport: MockTransport())
        let request = session.request("https://example.org/")
        let (first, second) = (TaskIdentifier(rawValue: 1), TaskIdentifier(rawValue: 2))
        recorder.request(request, didCreateURLRequest: try URLRequest(url: "https://example.org/", method: .get))
        recorder.request(request, didChangeTask: first, to: .resumed)
        // The exchange is resumed after a suspension.
        recorder.request(request, didChangeTask: first, to: .resumed)
        recorder.request(request, didChangeTask: second, to: .resumed)
        recorder.request(request, task: second, didCompleteWithError: nil)
        let json = try JSONSerialization.jsonObject(with: try await recorder.archive()) as? [String: Any]
        let entries = (json?["log"] as? [String: Any])?["entries"] as? [[String: Any]]
        #expect(entries?.map { $0["comment"] as? String } == ["answered with a challenge", nil])
    }

    /// A request that is given up after a challenge has an exchange that no event ends.
    @Test func openExchangeEndsWithItsRequest() async throws {
        let recorder = HARRecorder()
        let request = Session(transport: MockTransport()).request("https://example.org/")
        recorder.request(request, didCreateURLRequest: try URLRequest(url: "https://example.org/", method: .get))
        recorder.request(request, didChangeTask: TaskIdentifier(rawValue: 1), to: .resumed)
        recorder.requestDidFinish(request)
        #expect(recorder.requestsInProgress == 0)
        let json = try JSONSerialization.jsonObject(with: try await recorder.archive()) as? [String: Any]
        let entries = (json?["log"] as? [String: Any])?["entries"] as? [[String: Any]]
        #expect(entries?.map { $0["comment"] as? String } == ["no response was delivered"])
    }

    /// `resume()` may report the next attempt's exchange before that attempt's `URLRequest`.
    @Test func retryIsNotRecordedWithPreviousURLRequest() async throws {
        let recorder = HARRecorder()
        let request = Session(transport: MockTransport()).request("https://example.org/")
        let (first, second) = (TaskIdentifier(rawValue: 1), TaskIdentifier(rawValue: 2))
        recorder.request(request, didCreateURLRequest: try URLRequest(url: "https://example.org/1", method: .get))
        recorder.request(request, didChangeTask: first, to: .resumed)
        recorder.request(request, task: first, didCompleteWithError: nil)
        recorder.requestIsRetrying(request)
        recorder.request(request, didChangeTask: second, to: .resumed)
        recorder.request(request, didCreateURLRequest: try URLRequest(url: "https://example.org/2", method: .get))
        recorder.request(request, didChangeTask: second, to: .resumed)
        recorder.request(request, task: second, didCompleteWithError: nil)
        let json = try JSONSerialization.jsonObject(with: try await recorder.archive()) as? [String: Any]
        let entries = (json?["log"] as? [String: Any])?["entries"] as? [[String: Any]]
        let urls = entries?.map { ($0["request"] as? [String: Any])?["url"] as? String }
        #expect(urls == ["https://example.org/1", "https://example.org/2"])
    }

    /// An exchange that waits for `resume()` is not an entry, and leaves nothing when its request is cancelled.
    @Test func cancelledRequestLeavesNoHAREntry() async throws {
        let recorder = HARRecorder()
        let session = Session(transport: MockTransport { _ in .text("x") }, eventMonitors: [recorder])
        let request = session.request("https://example.org/").suspend()
        let task = Task { try await request.data() }
        try await eventually { request.task != nil }
        request.cancel()
        _ = await task.result
        await session.drain()
        let json = try JSONSerialization.jsonObject(with: try await recorder.archive()) as? [String: Any]
        let entries = (json?["log"] as? [String: Any])?["entries"] as? [Any]
        #expect(entries?.isEmpty == true)
        #expect(recorder.requestsInProgress == 0)
    }

    @Test(arguments: [
        (false, "<redacted>"), (true, "--b\r\nContent-Disposition: form-data; name=\"pin\"\r\n\r\n1234\r\n--b--"),
    ])
    func multipartFormIsRecordedOnlyWithCredentials(includesCredentials: Bool, shown: String) async throws {
        let recorder = HARRecorder(includingCredentials: includesCredentials)
        let session = Session(transport: MockTransport { _ in .text("hello") }, eventMonitors: [recorder])
        var request = try URLRequest(url: "https://example.org/", method: .post)
        request.setValue("multipart/form-data; boundary=b", forHTTPHeaderField: "Content-Type")
        request.httpBody = Data("--b\r\nContent-Disposition: form-data; name=\"pin\"\r\n\r\n1234\r\n--b--".utf8)
        _ = try await session.request(request).data()
        let json = try JSONSerialization.jsonObject(with: try await recorder.archive()) as? [String: Any]
        let entries = (json?["log"] as? [String: Any])?["entries"] as? [[String: Any]]
        let posted = (entries?.first?["request"] as? [String: Any])?["postData"] as? [String: Any]
        #expect(posted?["text"] as? String == shown)
    }

    @Test(
        "secrets in JSON that is mislabelled, unlabelled or not UTF-8 are left out",
        arguments: [
            ("application/json", Data(#"{"access_token":"s3cret","name":"#.utf8) + [0x22, 0xE9, 0x22, 0x7D]),
            ("application/json", Data(#"{"access_token":"s3cret","name":"#.utf8) + [0x22, 0xC3]),
            (nil, Data(#"{"access_token":"s3cret"}"#.utf8)), ("text/plain", Data(#"{"access_token":"s3cret"}"#.utf8)),
        ] as [(String?, Data)])
    func mislabelled(type: String?, body: Data) async throws {
        let recorder = HARRecorder()
        let session = Session(
            transport: MockTransport { _ in
                MockResponse(status: 200, headers: type.map { ["Content-Type": $0] } ?? [:], body: [.bytes(body)])
            }, eventMonitors: [recorder])
        _ = try await session.request("https://example.org/").data()
        let archive = try #require(String(data: try await recorder.archive(), encoding: .utf8))
        #expect(archive.contains("access_token"))
        #expect(!archive.contains("s3cret"))
        #expect(!archive.contains(body.base64EncodedString()))
    }

    @Test("the oldest exchanges are dropped, and the archive says how many", arguments: [0, 1, 3, 5, 6])
    func bounded(maximumEntries: Int) async throws {
        let recorder = HARRecorder(maximumEntries: maximumEntries)
        let session = Session(transport: MockTransport { _ in .text("hello") }, eventMonitors: [recorder])
        for number in 0..<5 { _ = try await session.request("https://example.org/\(number)").data() }
        let json = try JSONSerialization.jsonObject(with: try await recorder.archive()) as? [String: Any]
        let log = try #require(json?["log"] as? [String: Any])
        let entries = try #require(log["entries"] as? [[String: Any]])
        let urls = entries.map { ($0["request"] as? [String: Any])?["url"] as? String }
        let dropped = max(0, 5 - maximumEntries)
        #expect(urls == (dropped..<5).map { "https://example.org/\($0)" })
        #expect(
            log["comment"] as? String == (dropped > 0 ? "Earlier exchanges that are missing: \(dropped)" : nil))
    }

    @Test("a request's body is recorded up to the limit for bodies") func longRequestBody() async throws {
        let recorder = HARRecorder(maximumBodySize: 10)
        let session = Session(transport: MockTransport { _ in .text("hello") }, eventMonitors: [recorder])
        var request = try URLRequest(url: "https://example.org/", method: .post)
        request.httpBody = Data(repeating: 0x61, count: 100)
        _ = try await session.request(request).data()
        let json = try JSONSerialization.jsonObject(with: try await recorder.archive()) as? [String: Any]
        let entries = (json?["log"] as? [String: Any])?["entries"] as? [[String: Any]]
        let sent = try #require(entries?.first?["request"] as? [String: Any])
        #expect((sent["postData"] as? [String: Any])?["text"] as? String == String(repeating: "a", count: 10))
        #expect(sent["bodySize"] as? Int == 100)
    }

    @Test("with a negative limit for bodies, no body is recorded") func negativeLimit() async throws {
        let recorder = HARRecorder(maximumBodySize: -1)
        let session = Session(transport: MockTransport { _ in .text("hello") }, eventMonitors: [recorder])
        var request = try URLRequest(url: "https://example.org/", method: .post)
        request.httpBody = Data("sent".utf8)
        _ = try await session.request(request).data()
        let archive = String(decoding: try await recorder.archive(), as: UTF8.self)
        #expect(archive.contains("example.org"))
        #expect(!archive.contains("\"sent\"") && !archive.contains("\"hello\""))
    }

    @Test("a binary body without a secret is recorded unchanged") func bytes() async throws {
        let recorder = HARRecorder()
        let body = Data([0x89, 0x50, 0x4E, 0x47])
        let session = Session(
            transport: MockTransport { _ in
                MockResponse(status: 200, headers: ["Content-Type": "image/png"], body: [.bytes(body)])
            }, eventMonitors: [recorder])
        _ = try await session.request("https://example.org/").data()
        let archive = try #require(String(data: try await recorder.archive(), encoding: .utf8))
        #expect(archive.contains("\"\(body.base64EncodedString())\""))
    }

    @Test func onlyOwnerCanReadTheHARFile() async throws {
        let recorder = HARRecorder()
        let session = Session(transport: MockTransport { _ in .text("hello") }, eventMonitors: [recorder])
        let fields: HTTPHeaders = [
            "X-Auth": "SECRET", "DD-APPLICATION-KEY": "SECRET", "X-Jwt": "SECRET", "X-Other": "o",
        ]
        _ = try await session.request("https://example.org/", headers: fields).data()
        let file = FileManager.default.temporaryDirectory.appending(path: "curlew-\(UUID().uuidString).har")
        defer { try? FileManager.default.removeItem(at: file) }
        // An existing file is replaced, including its permissions.
        try Data("old".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
        try await recorder.write(to: file)
        let rights = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(rights == 0o600)
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text.contains("X-Other"))
        #expect(!text.contains("SECRET"))
    }

    /// While another request runs, events may still wait for their turn in the recorder; `archive()` waits for them.
    @Test func archiveHasEndedExchangesWhileOthersRun() async throws {
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
