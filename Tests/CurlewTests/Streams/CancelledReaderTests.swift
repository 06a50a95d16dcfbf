import CurlewCore
import CurlewLocks
import Foundation
import Testing

@testable import Curlew

@Suite("Readers whose task is cancelled", .timeLimit(.minutes(4)))
struct CancelledReaderTests {
    /// Returns a channel that has received all chunks and its end before the reader begins.
    private static func channel(_ text: String, pieces: Int = 1) -> BodyChannel {
        StreamSequenceTests.channel(Array(repeating: text, count: pieces))
    }

    private static func readAndCancel<S: AsyncSequence & Sendable>(
        _ sequence: S, after count: Int
    ) async -> (read: Int, code: CurlewError.Code?, follows: Bool) where S.Failure == CurlewError, S.Element: Sendable {
        await Task {
            var (read, iterator) = (0, sequence.makeAsyncIterator())
            do throws(CurlewError) {
                while try await iterator.next(isolation: nil) != nil {
                    read += 1
                    if read == count { withUnsafeCurrentTask { $0?.cancel() } }
                }
                return (read, nil, false)
            } catch {
                let next = try? await iterator.next(isolation: nil)
                return (read, error.code, next != nil)
            }
        }.value
    }

    @Test(
        "buffered lines, values and events are not delivered after a cancellation, nor is the end",
        arguments: [1, 6, 7, 8, 20])
    func parsed(count: Int) async {
        let lines = Self.channel(String(repeating: "1\n", count: 100))
        let read = await Self.readAndCancel(
            StreamLines(open: StreamSequenceTests.open(lines), maximumLength: 100), after: count)
        #expect(read == (count, .cancelled, false))
        let numbers = Self.channel(String(repeating: "1\n", count: 100))
        let decoded = await Self.readAndCancel(
            StreamValues<Int>(
                open: StreamSequenceTests.open(numbers), maximumLength: 100, decoder: FastJSONDecoder()), after: count)
        #expect(decoded == (count, .cancelled, false))
        let connections = StreamSequenceTests.Connections([
            (Self.channel(String(repeating: "data: 1\n\n", count: 100)), 200)
        ])
        let events = StreamEvents(open: connections.open, maximumEventSize: 100)
        #expect(await Self.readAndCancel(events, after: count) == (count, .cancelled, false))
        let again = StreamSequenceTests.Connections([
            (Self.channel(String(repeating: "data: 1\n\n", count: 100)), 200)
        ])
        let reconnecting = StreamEvents(open: again.open, maximumEventSize: 100).reconnecting()
        #expect(await Self.readAndCancel(reconnecting, after: count) == (count, .cancelled, false))
        #expect(again.opened.isEmpty)
    }

    @Test("buffered chunks are not delivered after a cancellation, nor is the end", arguments: [1, 2, 9])
    func chunks(count: Int) async {
        let channel = Self.channel(String(repeating: "x", count: 40_000), pieces: 10)
        let chunks = StreamChunks(open: StreamSequenceTests.open(channel))
        #expect(await Self.readAndCancel(chunks, after: count) == (count, .cancelled, false))
    }

    @Test("buffered messages of a busy peer are not delivered after a cancellation")
    func messages() async {
        let inbox = WebSocketInbox(limit: 1 << 20)
        for number in 0..<100 { _ = inbox.put(.text("\(number)")) }
        let left = Lock(0)
        let messages = WebSocketMessages {
            WebSocketReader(inbox, start: { _ = inbox.put(.text("more")) }, leave: { left.withLock { $0 += 1 } })
        }
        let read = await Self.readAndCancel(messages, after: 3)
        #expect(read.read == 3 && read.code == .cancelled)
        #expect(left.withLock { $0 } > 0)
    }
}
