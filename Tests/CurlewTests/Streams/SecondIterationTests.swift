import CurlewCore
import CurlewTesting
import Foundation
import Testing

import struct CurlewAlamofire.DataStreamTask

@testable import Curlew

/// A body can be read once. A second iteration throws instead of ending without elements.
@Suite("Second iterations of a body", .timeLimit(.minutes(2)))
struct SecondIterationTests {
    private let session = Session(transport: MockTransport { _ in .text("one\ntwo\n") })

    private func failure<S: AsyncSequence>(of sequence: S) async -> CurlewError? where S.Failure == CurlewError {
        do throws(CurlewError) {
            for try await _ in sequence {}
            return nil
        } catch {
            return error
        }
    }

    @Test("a second iteration after the end of the body is an error")
    func afterTheEnd() async throws {
        let request = session.streamRequest("https://example.org/")
        var lines: [String] = []
        for try await line in request.lines { lines.append(line) }
        #expect(lines == ["one", "two"])
        for error in [
            await failure(of: request.chunks), await failure(of: request.lines), await failure(of: request.events),
            await failure(of: request.decode(Int.self)),
        ] {
            #expect(error?.code == .bodyUnavailable)
            #expect(error?.reason.contains("read once") == true)
        }
    }

    @Test("an iteration after handlers have read the body is an error")
    func afterHandlers() async throws {
        let ended = Gate()
        let request = session.streamRequest("https://example.org/")
        request.responseStream(on: .global()) { if $0.completion != nil { ended.open() } }
        try await ended.wait()
        #expect(await failure(of: request.lines)?.code == .bodyUnavailable)
    }

    @Test("an iteration while handlers read the body is an error, and the handlers get all of it")
    func besideHandlers() async throws {
        let (gate, began) = (Gate(), Gate())
        let (text, ends) = (Recorded<String>(), Recorded<CurlewError?>())
        let request = inTwoParts(gate)
        request.responseStreamString(on: .global()) { stream in
            if let piece = stream.value { text.note(piece) }
            if let completion = stream.completion { ends.note(completion.error) }
            began.open()
        }
        try await began.wait()
        // The iterator of this attempt has been released when the call returns.
        #expect(await failure(of: request.lines)?.code == .bodyUnavailable)
        gate.open()
        try await eventually { !ends.all.isEmpty }
        #expect(text.all == ["one\n", "two\n"])
        #expect(ends.all.map { $0?.code } == [nil])
    }

    @Test("handlers added while a sequence reads get an error, and the sequence gets all bytes")
    func handlersMeanwhile() async throws {
        let gate = Gate()
        let (pieces, ends) = (Recorded<Data>(), Recorded<CurlewError?>())
        let request = inTwoParts(gate)
        var lines = request.lines.makeAsyncIterator()
        #expect(try await lines.next() == "one")
        request.responseStream(on: .global()) { stream in
            if let piece = stream.value { pieces.note(piece) }
            if let completion = stream.completion { ends.note(completion.error) }
        }
        gate.open()
        #expect(try await lines.next() == "two")
        #expect(try await lines.next() == nil)
        try await eventually { !ends.all.isEmpty }
        #expect(ends.all.map { $0?.code } == [.bodyUnavailable])
        #expect(pieces.all.isEmpty)
    }

    @Test("handlers added after a sequence has read the body get an error")
    func handlersAfterwards() async throws {
        let request = session.streamRequest("https://example.org/")
        for try await _ in request.lines {}
        try await eventually { request.hasResult }
        for _ in 0..<2 {
            let (text, end) = try await handled(request)
            #expect(text.isEmpty)
            #expect(end?.code == .bodyUnavailable)
        }
    }

    @Test("handlers added after the end get a body that was not read", arguments: [true, false])
    func handlersOfTheUnread(asksForHead: Bool) async throws {
        let request = session.streamRequest("https://example.org/")
        if asksForHead { _ = try await request.head() } else { request.resume() }
        try await eventually { request.hasResult }
        let (text, end) = try await handled(request)
        #expect(text == "one\ntwo\n")
        #expect(end == nil)
        #expect(await failure(of: request.lines)?.code == .bodyUnavailable)
    }

    @Test("handlers added after a cancellation or a failure get its error", arguments: [true, false])
    func handlersAfterAFailure(isCancelled: Bool) async throws {
        let transport = MockTransport { _ in throw CurlewError(.connectFailed, phase: .connect, reason: "x") }
        let request = Session(transport: transport).streamRequest("https://example.org/")
        if isCancelled { request.cancel() } else { request.resume() }
        try await eventually { request.hasResult }
        for _ in 0..<2 {
            let (text, end) = try await handled(request)
            #expect(text.isEmpty)
            #expect(end?.code == (isCancelled ? .cancelled : .connectFailed))
        }
    }

    /// Returns what a new handler receives up to its completion.
    private func handled(_ request: DataStreamRequest) async throws -> (text: String, error: CurlewError?) {
        let (text, ends) = (Recorded<String>(), Recorded<CurlewError?>())
        request.responseStreamString(on: .global()) { stream in
            if let piece = stream.value { text.note(piece) }
            if let completion = stream.completion { ends.note(completion.error) }
        }
        try await eventually { !ends.all.isEmpty }
        return (text.all.joined(), ends.all[0])
    }

    @Test("an iteration after the first one was left is cancelled")
    func afterLeaving() async throws {
        let request = session.streamRequest("https://example.org/")
        for try await _ in request.lines { break }
        #expect(await failure(of: request.lines)?.code == .cancelled)
    }

    @Test("an iteration after the request was cancelled is cancelled too")
    func afterCancelling() async throws {
        let session = Session(
            transport: MockTransport { _ in
                MockResponse(status: 200, body: [.bytes(Data("one\n".utf8)), .wait(Gate())])
            })
        let request = session.streamRequest("https://example.org/")
        var lines = request.lines.makeAsyncIterator()
        #expect(try await lines.next() == "one")
        request.cancel()
        do {
            _ = try await lines.next()
            Issue.record("a line came after the end")
        } catch {
            #expect(error.code == .cancelled)
        }
        #expect(await failure(of: request.lines)?.code == .cancelled)
    }

    /// Returns a request whose second line is sent when the gate opens.
    private func inTwoParts(_ gate: Gate) -> DataStreamRequest {
        let transport = MockTransport { _ in
            MockResponse(status: 200, body: [.bytes(Data("one\n".utf8)), .wait(gate), .bytes(Data("two\n".utf8))])
        }
        return Session(transport: transport).streamRequest("https://example.org/")
    }

    @Test("a second iterator that is dropped unread does not end the first")
    func unread() async throws {
        let gate = Gate()
        let request = inTwoParts(gate)
        var lines = request.lines.makeAsyncIterator()
        #expect(try await lines.next() == "one")
        do { _ = request.chunks.makeAsyncIterator() }
        gate.open()
        #expect(try await lines.next() == "two")
        #expect(try await lines.next() == nil)
    }

    @Test("a second iteration during the first is an error, and the first continues")
    func meanwhile() async throws {
        let request = session.streamRequest("https://example.org/")
        var lines = request.lines.makeAsyncIterator()
        #expect(try await lines.next() == "one")
        #expect(await failure(of: request.chunks)?.code == .bodyUnavailable)
        #expect(try await lines.next() == "two")
        #expect(try await lines.next() == nil)
        #expect(request.isFinished)
    }
}
