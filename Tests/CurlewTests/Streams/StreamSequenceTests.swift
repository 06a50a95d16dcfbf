import CurlewCore
import CurlewLocks
import Foundation
import Testing

@testable import Curlew

/// The sequences over a body. The tests fill the channels by hand, without a request or a transport.
@Suite("Stream sequences", .timeLimit(.minutes(4)))
struct StreamSequenceTests {
    /// Returns a channel that was filled before its first read.
    static func channel(_ chunks: [String], error: CurlewError? = nil) -> BodyChannel {
        let channel = BodyChannel()
        for chunk in chunks { send(chunk, into: channel) }
        channel.finish(throwing: error)
        return channel
    }

    static func send(_ text: String, into channel: BodyChannel) {
        var bytes = Data(text.utf8)
        bytes.withUnsafeMutableBytes { _ = channel.receive(UnsafeRawBufferPointer($0)) }
    }

    static func open(_ channel: BodyChannel) -> @Sendable () -> StreamReader { { StreamReader(channel) {} } }

    static let broken = CurlewError(.truncated, phase: .receive)

    @Test(
        "lines are the same wherever the chunks are split",
        arguments: ["a\nb\n\r\nc\r\n\nd", "a", "", "\n", "é\r\nü\n"])
    func lines(_ text: String) async throws {
        let whole = try await collectLines([text])
        let bytes = Array(text.utf8)
        for split in 0...bytes.count {
            let halves = [bytes[..<split], bytes[split...]].map { String(decoding: $0, as: UTF8.self) }
            guard halves.joined() == text else { continue }
            #expect(try await collectLines(halves) == whole)
        }
    }

    func collectLines(_ chunks: [String]) async throws -> [String] {
        var lines: [String] = []
        for try await line in StreamLines(open: Self.open(Self.channel(chunks)), maximumLength: 100) {
            lines.append(line)
        }
        return lines
    }

    @Test("blank lines are kept, and a line break at the end adds no line")
    func lineRules() async throws {
        #expect(try await collectLines(["a\n\nb\r\n", "\r", "\nc"]) == ["a", "", "b", "", "c"])
        #expect(try await collectLines(["a\n"]) == ["a"])
        #expect(try await collectLines([]) == [])
    }

    @Test("an error is thrown after the complete lines before it")
    func lineErrors() async {
        var lines: [String] = []
        do throws(CurlewError) {
            let channel = Self.channel(["a\nb\nc"], error: Self.broken)
            for try await line in StreamLines(open: Self.open(channel), maximumLength: 100) { lines.append(line) }
            Issue.record("no error")
        } catch {
            #expect(error.code == .truncated)
        }
        #expect(lines == ["a", "b"])
    }

    @Test("more lines than are parsed at once are the same wherever the chunks are split")
    func manyLines() async throws {
        let expected = (0..<17).map { String(repeating: "x", count: $0 % 4) }
        let text = expected.map { $0 + "\n" }.joined()
        for split in 0...text.count {
            #expect(try await collectLines([String(text.prefix(split)), String(text.dropFirst(split))]) == expected)
        }
    }

    @Test("lines are parsed on demand, so a line above the limit fails only when it is reached")
    func linesAreCutLate() async throws {
        let abandoned = Lock(false)
        let channel = BodyChannel { abandoned.withLock { $0 = true } }
        Self.send(String(repeating: "a\n", count: 50) + "12345678901\nb\n", into: channel)
        var lines = StreamLines(open: Self.open(channel), maximumLength: 10).makeAsyncIterator()
        for index in 0..<50 {
            let line = try await lines.next()
            #expect(line == "a")
            if index < 40 { #expect(!abandoned.withLock { $0 }) }
        }
        do throws(CurlewError) {
            _ = try await lines.next()
            Issue.record("no error")
        } catch {
            #expect(error.code == .limitExceeded)
        }
        #expect(abandoned.withLock { $0 })
        let none = try await lines.next()
        #expect(none == nil)
    }

    @Test("a line above the limit is an error after the lines before it and cancels the transfer")
    func longLine() async {
        let abandoned = Lock(false)
        let channel = BodyChannel { abandoned.withLock { $0 = true } }
        Self.send("a\nb\n12345678901\nc\n", into: channel)
        var lines: [String] = []
        do throws(CurlewError) {
            for try await line in StreamLines(open: Self.open(channel), maximumLength: 10) { lines.append(line) }
            Issue.record("no error")
        } catch {
            #expect(error.code == .limitExceeded)
        }
        #expect(lines == ["a", "b"])
        #expect(abandoned.withLock { $0 })
    }

    struct Item: Codable, Sendable, Equatable { var id: Int }

    @Test("each line is a value, blank lines are skipped, and the last needs no line break")
    func values() async throws {
        let channel = Self.channel(["{\"id\":1}\n\n  \r\n{\"i", "d\":2}\r\n{\"id\":3}"])
        var items: [Item] = []
        for try await item in StreamValues<Item>(
            open: Self.open(channel), maximumLength: 100, decoder: JSONDecoder())
        {
            items.append(item)
        }
        #expect(items.map(\.id) == [1, 2, 3])
    }

    @Test("a line that does not decode ends the sequence after the values before it")
    func badValue() async {
        let channel = Self.channel(["{\"id\":1}\nnope\n{\"id\":3}\n"])
        var items: [Item] = []
        do throws(CurlewError) {
            let values = StreamValues<Item>(open: Self.open(channel), maximumLength: 100, decoder: JSONDecoder())
            for try await item in values { items.append(item) }
            Issue.record("no error")
        } catch {
            #expect(error.code == .decodingFailed)
            #expect(error.underlying is DecodingError)
        }
        #expect(items.map(\.id) == [1])
    }

    @Test("no incomplete line and no later value follows an error")
    func nothingFollowsAnError() async throws {
        var lines = StreamLines(open: Self.open(Self.channel(["a\nb"], error: Self.broken)), maximumLength: 100)
            .makeAsyncIterator()
        #expect(try await lines.next() == "a")
        do throws(CurlewError) {
            _ = try await lines.next()
            Issue.record("no error")
        } catch { #expect(error.code == .truncated) }
        #expect(try await lines.next() == nil)

        let channel = Self.channel(["nope\n{\"id\":2}\n"])
        var values = StreamValues<Item>(open: Self.open(channel), maximumLength: 100, decoder: JSONDecoder())
            .makeAsyncIterator()
        do throws(CurlewError) {
            _ = try await values.next()
            Issue.record("no error")
        } catch { #expect(error.code == .decodingFailed) }
        #expect(try await values.next()?.id == nil)
    }

    @Test("leaving the loop cancels the transfer, running to the end does not")
    func leaving() async throws {
        let abandoned = Lock(0)
        let endless = BodyChannel { abandoned.withLock { $0 += 1 } }
        Self.send("a\nb\n", into: endless)
        for try await line in StreamLines(open: Self.open(endless), maximumLength: 100) where line == "a" { break }
        #expect(abandoned.withLock { $0 } == 1)

        let finite = BodyChannel { abandoned.withLock { $0 += 1 } }
        Self.send("a\n", into: finite)
        finite.finish()
        for try await _ in StreamChunks(open: Self.open(finite)) {}
        #expect(abandoned.withLock { $0 } == 1)
    }

    // MARK: Events

    /// Connections that a test has prepared, handed out in order.
    final class Connections: Sendable {
        private let state: Lock<(channels: [(BodyChannel, Int?)], opened: [String?])>

        init(_ channels: [(BodyChannel, Int?)]) { state = Lock((channels, [])) }

        /// The last event ID of each reconnection.
        var opened: [String?] { state.withLock { $0.opened } }

        var open: StreamEvents.Open {
            { reconnection in
                let (channel, status) = self.state.withLock { state in
                    if let reconnection { state.opened.append(reconnection.lastEventID) }
                    return state.channels.isEmpty
                        ? (StreamSequenceTests.channel([]), 204) : state.channels.removeFirst()
                }
                return StreamEvents.Connection(reader: StreamReader(channel) {}, status: { status })
            }
        }
    }

    @Test("events end with the response, without an incomplete last event")
    func events() async throws {
        let connections = Connections([(Self.channel(["id: 1\nda", "ta: a\n\ndata: b\n\n", "data: lost"]), 200)])
        var events: [ServerSentEvent] = []
        for try await event in StreamEvents(open: connections.open, maximumEventSize: 100) { events.append(event) }
        #expect(events == [ServerSentEvent(id: "1", data: "a"), ServerSentEvent(id: "1", data: "b")])
        #expect(connections.opened.isEmpty)
    }

    @Test("more events than are parsed at once are the same wherever the chunks are split, before an error")
    func manyEvents() async throws {
        let expected = (0..<17).map { ServerSentEvent(id: "\($0)", data: String(repeating: "x", count: $0 % 3)) }
        let text = expected.map { "id: \($0.id ?? "")\ndata: \($0.data)\r\n\n" }.joined()
        let bytes = Array(text.utf8)
        for split in 0...bytes.count {
            let halves = [bytes[..<split], bytes[split...]].map { String(decoding: $0, as: UTF8.self) }
            let connections = Connections([(Self.channel(halves, error: Self.broken), 200)])
            var events: [ServerSentEvent] = []
            do throws(CurlewError) {
                let stream = StreamEvents(open: connections.open, maximumEventSize: 100)
                for try await event in stream { events.append(event) }
                Issue.record("no error")
            } catch {
                #expect(error.code == .truncated)
            }
            #expect(events == expected, "cut at \(split)")
        }
    }

    @Test("reconnecting continues after ends and failures, with the last event ID, until a 204")
    func reconnecting() async throws {
        let connections = Connections([
            (Self.channel(["retry: 1\nid: 1\ndata: a\n\n"]), 200),
            (Self.channel(["data: b\n\nid: 2\n", "data: c\n\ndata: lost"], error: Self.broken), 200),
            (Self.channel(["id\ndata: d\n\n"]), 200), (Self.channel([], error: Self.broken), nil),
            (Self.channel(["data: e\n\n"]), 200),
        ])
        let events = StreamEvents(open: connections.open, maximumEventSize: 100).reconnecting(delay: .milliseconds(1))
        var seen: [String] = []
        for try await event in events { seen.append(event.data) }
        #expect(seen == ["a", "b", "c", "d", "e"])
        #expect(connections.opened == ["1", "2", nil, nil, nil])
    }

    @Test("reconnecting throws too many failures in a row, and a permanent one at once")
    func reconnectingFails() async {
        let refused = CurlewError(.unacceptableStatus, phase: .validation, responseCode: 401)
        for (error, connectionCount) in [(Self.broken, 3), (refused, 1)] {
            let connections = Connections((0..<5).map { _ in (Self.channel([], error: error), nil) })
            let events = StreamEvents(open: connections.open, maximumEventSize: 100)
                .reconnecting(delay: .milliseconds(1), maximumFailures: 2)
            do throws(CurlewError) {
                for try await _ in events {}
                Issue.record("no error")
            } catch let thrown {
                #expect(thrown.code == error.code)
            }
            #expect(connections.opened.count == connectionCount - 1)
        }
    }

    @Test("an event above the limit is an error after the events before it, without reconnecting")
    func bigEvent() async {
        let big = "data: a\n\ndata: " + String(repeating: "x", count: 200) + "\n\n"
        let connections = Connections([(Self.channel([big]), 200)])
        var seen: [String] = []
        do throws(CurlewError) {
            let events = StreamEvents(open: connections.open, maximumEventSize: 100).reconnecting()
            for try await event in events { seen.append(event.data) }
            Issue.record("no error")
        } catch {
            #expect(error.code == .limitExceeded)
        }
        #expect(seen == ["a"])
        #expect(connections.opened.isEmpty)
    }

    @Test("cancelling during the wait for the next connection ends the sequence")
    func cancelWhileWaiting() async {
        let connections = Connections([(Self.channel(["data: a\n\n"]), 200)])
        let events = StreamEvents(open: connections.open, maximumEventSize: 100).reconnecting(delay: .seconds(600))
        let (seen, told) = AsyncStream.makeStream(of: String.self)
        let reader = Task { () -> CurlewError.Code? in
            do throws(CurlewError) {
                for try await event in events { told.yield(event.data) }
                return nil
            } catch {
                return error.code
            }
        }
        for await _ in seen { break }
        reader.cancel()
        #expect(await reader.value == .cancelled)
    }

    @Test("an event's data is decoded with the given decoder")
    func eventData() throws {
        #expect(try ServerSentEvent(data: "{\"a\":\n[1, 2]}").decode([String: [Int]].self) == ["a": [1, 2]])
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        #expect(try ServerSentEvent(data: "[5]").decode(decoder: decoder) == [Date(timeIntervalSince1970: 5)])
        let error = #expect(throws: CurlewError.self) { try ServerSentEvent(data: "[DONE]").decode([Int].self) }
        #expect(error?.code == .decodingFailed && error?.underlying is DecodingError)
    }
}
