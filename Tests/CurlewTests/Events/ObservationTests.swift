import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import Testing

@Suite("Logs and notifications", .timeLimit(.minutes(4)))
struct ObservationTests {
    private struct Line: Sendable {
        let level: LogEventMonitor.Level
        let message: String
        let fields: [String: String]
    }

    @Test func logsShowNoSecrets() async throws {
        let lines = Recorded<Line>()
        let monitor = LogEventMonitor { lines.note(Line(level: $0, message: $1, fields: $2)) }
        let transport = MockTransport { request in
            guard request.path == "/ok" else { throw CurlewError(.receiveFailed, phase: .receive) }
            return MockResponse(
                status: 200, headers: ["Set-Cookie": "sid=SECRETCOOKIE"], body: [.bytes(Data("SECRETBODY".utf8))])
        }
        let session = Session(transport: transport, eventMonitors: [monitor])
        for path in ["ok", "fails"] {
            _ = await session.request(
                "https://SECRETUSER:SECRETPASSWORD@example.org/\(path)?token=SECRETQUERY&plain=SECRETTOO",
                method: .post,
                headers: ["Authorization": "Bearer SECRETTOKEN", "Cookie": "a=SECRETCOOKIE", "X-Api-Key": "SECRETKEY"]
            ).response()
        }
        await session.drain()
        await monitor.queue.settled()
        #expect(lines.all.contains { $0.message == "exchange ended" && $0.fields["status"] == "200" })
        let failed = try #require(lines.all.first { $0.message == "exchange failed" })
        #expect(failed.level == .error)
        #expect(failed.fields["code"] == "receiveFailed")
        #expect(failed.fields["method"] == "POST")
        #expect(failed.fields["url"]?.hasPrefix("https://example.org/fails?token=") == true)
        for line in lines.all {
            #expect(!line.message.contains("SECRET"))
            for (name, value) in line.fields { #expect(!value.contains("SECRET"), "\(name)") }
        }
    }

    @Test func logOmitsEntriesBelowMinimumLevel() async {
        let lines = Recorded<Line>()
        let monitor = LogEventMonitor(minimumLevel: .error) { lines.note(Line(level: $0, message: $1, fields: $2)) }
        let session = Session(
            transport: MockTransport { $0.path == "/ok" ? .text("x") : .status(500) }, eventMonitors: [monitor])
        _ = await session.request("https://example.org/ok").response()
        await session.drain()
        await monitor.queue.settled()
        #expect(lines.all.isEmpty)
    }

    @Test func retriedExchangesAreLoggedAtDebugLevel() async throws {
        let (lines, counted) = (Recorded<Line>(), Recorded<Int>())
        let monitor = LogEventMonitor { lines.note(Line(level: $0, message: $1, fields: $2)) }
        let transport = MockTransport { _ in
            counted.note(1)
            return counted.all.count < 3 ? .status(503, headers: ["Retry-After": "0"]) : .text("at last")
        }
        let session = Session(
            transport: transport, interceptor: RetryPolicy(exponentialBackoffScale: 0), eventMonitors: [monitor])
        #expect(try await session.request("https://example.org/").string() == "at last")
        await session.drain()
        await monitor.queue.settled()
        let ends = lines.all.filter { $0.message.hasPrefix("exchange ") && $0.message != "exchange started" }
        #expect(ends.map(\.level) == [.debug, .debug, .info])
        #expect(ends.map(\.fields["status"]) == ["503", "503", "200"])
        #expect(ends.map(\.fields["attempt"]) == ["1", "2", "3"])
        #expect(ends.allSatisfy { $0.fields["milliseconds"] != nil && $0.fields["method"] == "GET" })
        #expect(lines.all.filter { $0.message == "request retries" }.map(\.fields["attempt"]) == ["2", "3"])
        #expect(!lines.all.contains { $0.level >= .warning })
    }

    @Test("a retry after a decoding failure continues the log's count of attempts")
    func retryAfterFinish() async throws {
        let (lines, counted) = (Recorded<Line>(), Recorded<Int>())
        let monitor = LogEventMonitor { lines.note(Line(level: $0, message: $1, fields: $2)) }
        let transport = MockTransport { _ in
            counted.note(1)
            return counted.all.count == 1 ? .status(503) : .text(counted.all.count == 2 ? "{" : "[1]")
        }
        let session = Session(
            transport: transport, interceptor: Retrier { _, _, _ in .retry }, eventMonitors: [monitor])
        let handle = session.request("https://example.org/").validate().serializingDecodable([Int].self)
        #expect(try await handle.value == [1])
        await session.drain()
        await monitor.queue.settled()
        let ends = lines.all.filter { $0.message.hasPrefix("exchange ") && $0.message != "exchange started" }
        #expect(ends.map(\.fields["attempt"]) == ["1", "2", "3"])
        #expect(lines.all.filter { $0.message == "request retries" }.map(\.fields["attempt"]) == ["2", "3"])
        #expect(lines.all.filter { $0.message == "exchange started" }.map(\.fields["attempt"]) == ["1", "2", "3"])
        #expect(monitor.requestsInProgress == 0)
    }

    @Test("an exchange that was hedged is marked in the log and in an archive", arguments: [true, false])
    func hedged(secondWins: Bool) async throws {
        let lines = Recorded<Line>()
        let monitor = LogEventMonitor { lines.note(Line(level: $0, message: $1, fields: $2)) }
        let recorder = HARRecorder()
        let (never, second) = (Gate(), Gate())
        let transport = MockTransport { request in
            if request.index == 1 { second.open() }
            if request.index == (secondWins ? 0 : 1) { try await never.wait() }
            if request.index == 0 { try await second.wait() }
            return .text("fine")
        }
        var configuration = SessionConfiguration()
        configuration.resilience.hedging = .after(.zero)
        configuration.resilience.hedging?.maximumShare = 1
        let session = Session(
            configuration: configuration, transport: transport, eventMonitors: [monitor, recorder])
        _ = try await session.request("https://example.org/").data()
        _ = try await session.request("https://example.org/").resilience(without: .hedging).data()
        await session.drain()
        await monitor.queue.settled()
        let ends = lines.all.filter { $0.message == "exchange ended" }
        #expect(ends.map(\.fields["hedge"]) == [secondWins ? "won" : "lost", nil])
        let json = try JSONSerialization.jsonObject(with: try await recorder.archive()) as? [String: Any]
        let entries = try #require((json?["log"] as? [String: Any])?["entries"] as? [[String: Any]])
        try #require(entries.count == 2)
        let comment = try #require(entries[0]["comment"] as? String)
        #expect(comment.hasPrefix("hedged: a second copy was sent after "))
        #expect(comment.hasSuffix(", and its response was used") == secondWins)
        #expect(entries[1]["comment"] == nil)
    }

    @Test(arguments: [(404, LogEventMonitor.Level.info), (503, .warning)])
    func serverErrorsAreWarnings(status: Int, level: LogEventMonitor.Level) async throws {
        let lines = Recorded<Line>()
        let monitor = LogEventMonitor(minimumLevel: .info) { lines.note(Line(level: $0, message: $1, fields: $2)) }
        let session = Session(transport: MockTransport { _ in .status(status) }, eventMonitors: [monitor])
        _ = await session.request("https://example.org/").response()
        await #expect(throws: CurlewError.self) { try await session.request("https://example.org/").data() }
        await session.drain()
        await monitor.queue.settled()
        #expect(lines.all.map(\.level) == [level, .warning])
        #expect(lines.all.map(\.fields["status"]) == ["\(status)", "\(status)"])
        #expect(lines.all.map(\.fields["code"]) == [nil, "unacceptableStatus"])
    }

    @Test func redirectsAreLoggedBelowInfo() async throws {
        let lines = Recorded<Line>()
        let monitor = LogEventMonitor { lines.note(Line(level: $0, message: $1, fields: $2)) }
        let transport = MockTransport {
            $0.path == "/old" ? .status(302, headers: ["Location": "/new"]) : .text("moved")
        }
        let session = Session(transport: transport, eventMonitors: [monitor])
        _ = try await session.request("https://example.org/old").data()
        await session.drain()
        await monitor.queue.settled()
        #expect(lines.all.filter { $0.level >= .info }.count == 1)
    }

    @Test func notificationsReportRequestStates() async throws {
        let seen = Recorded<(Notification.Name, ObjectIdentifier?)>()
        let names = [
            Request.didResumeNotification, Request.didSuspendNotification, Request.didCancelNotification,
            Request.didFinishNotification, Request.didResumeTaskNotification, Request.didSuspendTaskNotification,
            Request.didCancelTaskNotification, Request.didCompleteTaskNotification,
        ]
        let monitor = RequestNotifications(queue: DispatchQueue(label: "test"))
        let transport = MockTransport { $0.path == "/hanging" ? .hanging : .text("x") }
        let session = Session(transport: transport, eventMonitors: [monitor])
        let plain = session.request("https://example.org/")
        let cancelled = session.request("https://example.org/hanging")
        let mine = [ObjectIdentifier(plain), ObjectIdentifier(cancelled)]
        let observers = names.map { name in
            NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { notification in
                // Requests of other tests post to the same centre.
                guard let request = notification.request, mine.contains(ObjectIdentifier(request)) else { return }
                seen.note((notification.name, ObjectIdentifier(request)))
            }
        }
        defer { for observer in observers { NotificationCenter.default.removeObserver(observer) } }
        _ = try await plain.data()
        let handle = cancelled.serializingData()
        try await transport.waitForRequests(count: 2)
        cancelled.suspend()
        cancelled.resume()
        cancelled.cancel()
        _ = await handle.response
        await session.drain()
        await monitor.queue.settled()
        let plainNames = seen.all.filter { $0.1 == mine[0] }.map(\.0)
        #expect(
            plainNames == [
                Request.didResumeNotification, Request.didResumeTaskNotification, Request.didCompleteTaskNotification,
                Request.didFinishNotification,
            ])
        let cancelledNames = Set(seen.all.filter { $0.1 == mine[1] }.map(\.0))
        #expect(cancelledNames == Set(names))
    }
}
