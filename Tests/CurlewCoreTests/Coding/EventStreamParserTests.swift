internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Event stream parser", .timeLimit(.minutes(4)))
struct EventStreamParserTests {
    @Test("a stream gives the same events wherever it is split")
    func everySplit() throws {
        let stream = Data(
            "\u{FEFF}: hi\r\nid: 7\r\nevent: e\r\nretry: 250\r\ndata: a\r\ndata: ü\r\n\r\ndata\r\rid\ndata: b\n\n".utf8)
        let expected = [
            ServerSentEvent(id: "7", event: "e", data: "a\nü", retry: .milliseconds(250)),
            ServerSentEvent(id: "7", data: ""),
            ServerSentEvent(data: "b"),
        ]
        for first in 0...stream.count {
            for second in first...stream.count {
                var parser = EventStreamParser(maximumEventSize: 1000)
                var events: [ServerSentEvent] = []
                for chunk in [stream[..<first], stream[first..<second], stream[second...]] {
                    events += try parser.events(in: Data(chunk))
                }
                #expect(events == expected, "cut at \(first) and \(second)")
            }
        }
    }

    @Test("events are returned one by one, and an incomplete event is kept for the next bytes")
    func oneByOne() throws {
        var parser = EventStreamParser(maximumEventSize: 100)
        let chunks = [Array("data: a\r\rdata: b\ndata: c\n\n: x\n\ndata: d".utf8), Array("\n\ndata: e\n\n".utf8)]
        let expected = [["a", "b\nc"], ["d", "e"]]
        for (chunk, texts) in zip(chunks, expected) {
            var cursor = EventStreamParser.Cursor()
            try chunk.withUnsafeBytes { bytes in
                for text in texts {
                    #expect(cursor.position < bytes.count)
                    let event = try parser.next(in: bytes, from: &cursor)
                    #expect(event?.data == text)
                }
                for _ in 0..<2 {
                    let none = try parser.next(in: bytes, from: &cursor)
                    #expect(none == nil)
                    #expect(cursor.position == bytes.count)
                }
            }
        }
    }

    @Test("the data lines of an event are joined wherever the stream is split", arguments: ["\n", "\r", "\r\n"])
    func joinedData(end: String) throws {
        let stream = Data("data: one\(end)data: two\(end)data\(end)data:\(end)data: three\(end)\(end)".utf8)
        for first in 0...stream.count {
            for second in first...stream.count {
                var parser = EventStreamParser(maximumEventSize: 100)
                let texts = try [stream[..<first], stream[first..<second], stream[second...]].flatMap {
                    try parser.events(in: Data($0)).map(\.data)
                }
                #expect(texts == ["one\ntwo\n\n\nthree"], "cut at \(first) and \(second)")
            }
        }
    }

    @Test(
        "an event above the maximum is refused",
        arguments: ["data: 0123456789\n\n", "data: 01234\ndata: 56789\n\n", "data: 0123456789", ": 01234567890\n"])
    func limit(text: String) {
        var parser = EventStreamParser(maximumEventSize: 12)
        let error = #expect(throws: CurlewError.self) { try parser.events(in: Data(text.utf8)) }
        #expect(error?.code == .limitExceeded)
    }

    @Test("the last event ID is carried over from the previous connection")
    func carriedOver() throws {
        var parser = EventStreamParser(maximumEventSize: 100, lastEventID: "41")
        let events = try parser.events(in: Data("data: x\n\nid: 42\n\n".utf8))
        #expect(events == [ServerSentEvent(id: "41", data: "x")])
        #expect(parser.lastEventID == "42")
    }

    @Test("an event without its blank line is dropped, and so is its ID")
    func unfinished() throws {
        var parser = EventStreamParser(maximumEventSize: 100)
        #expect(try parser.events(in: Data("id: 1\ndata: x\n".utf8)).isEmpty)
        #expect(parser.lastEventID == nil)
    }

    @Test(
        "a retry field whose value is not a number is ignored",
        arguments: ["", "x", "1 0", "-5", "99999999999999999999"])
    func badRetry(value: String) throws {
        var parser = EventStreamParser(maximumEventSize: 100)
        _ = try parser.events(in: Data("retry: \(value)\n\n".utf8))
        #expect(parser.reconnectionTime == nil)
    }
}
