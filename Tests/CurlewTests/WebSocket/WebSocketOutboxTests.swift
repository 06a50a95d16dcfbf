internal import CurlewCore
internal import Foundation
internal import Testing

@testable import Curlew
@testable import CurlewTesting

/// Frames that bypass the writer, and frames that do not. A server's frames are not masked, so their bytes can be
/// compared.
@Suite("WebSocket outbox")
struct WebSocketOutboxTests {
    /// Accepts at most `takesNow` bytes of each immediate write.
    private final class Wire: ByteConnection {
        let takesNow: Int
        let sentNow = Watched<[UInt8]>([])
        /// Called during each immediate write.
        let meanwhile: @Sendable () -> Void

        init(takesNow: Int, meanwhile: @escaping @Sendable () -> Void = {}) {
            (self.takesNow, self.meanwhile) = (takesNow, meanwhile)
        }

        var metrics: TransferMetrics { TransferMetrics(queued: Date(), ended: Date()) }
        func receive(maximum: Int) async throws(CurlewError) -> [UInt8]? { nil }
        func send(_ bytes: [UInt8]) async throws(CurlewError) {}
        func finishSending() async throws(CurlewError) {}
        func close() {}

        func sendNow(_ bytes: UnsafeRawBufferPointer) -> Int {
            meanwhile()
            let count = min(takesNow, bytes.count)
            let taken = Array(bytes[..<count])
            sentNow.change { $0 += taken }
            return count
        }
    }

    private static func outbox(_ wire: Wire, limit: Int = 1000) -> WebSocketOutbox {
        let outbox = WebSocketOutbox(limit: limit)
        outbox.open(WebSocketSender(role: .server), over: wire)
        return outbox
    }

    /// Starts a writer that appends the outbox's bytes to `written`.
    private static func writer(_ outbox: WebSocketOutbox, _ written: Watched<[UInt8]>) -> Task<Void, Never> {
        Task {
            while let bytes = await outbox.next() { written.change { $0 += bytes } }
        }
    }

    /// Ends a writer that has been given all its bytes, or waits for more.
    private static func end(_ writer: Task<Void, Never>, of outbox: WebSocketOutbox) async throws {
        try await eventually { outbox.bytesWaiting == 0 && outbox.isWriterWaiting }
        writer.cancel()
        await writer.value
    }

    private static func frame(_ text: String) -> [UInt8] { [0x81, UInt8(text.utf8.count)] + Array(text.utf8) }

    @Test(
        "an answer is written on its sender's thread if the writer waits, and its rest by the writer",
        arguments: [0, 1, 5, 100])
    func answer(takesNow: Int) async throws {
        let wire = Wire(takesNow: takesNow)
        let outbox = Self.outbox(wire)
        let written = Watched<[UInt8]>([])
        let writer = Self.writer(outbox, written)
        try await eventually { outbox.isWriterWaiting }
        #expect(outbox.trySend(.text("hello"), peerWaits: true))
        try await Self.end(writer, of: outbox)
        let expected = Self.frame("hello")
        #expect(wire.sentNow.value == Array(expected.prefix(takesNow)))
        #expect(written.value == Array(expected.dropFirst(takesNow)))
        #expect(outbox.bytesWaiting == 0)
    }

    /// The peer's close frame or violation may end the outbox before this side's close frame has been queued.
    @Test("the close frame is sent once, whether it is queued before the end or after it", arguments: [true, false])
    func closeFrameOnce(isQueuedBefore: Bool) async throws {
        let outbox = Self.outbox(Wire(takesNow: 0))
        let written = Watched<[UInt8]>([])
        if isQueuedBefore { outbox.control(.close, [3, 232]) }
        outbox.finish(last: [3, 232])
        if !isQueuedBefore { outbox.control(.close, [3, 232]) }
        await Self.writer(outbox, written).value
        #expect(written.value == [0x88, 2, 3, 232])
    }

    @Test("a message that is sent while an answer is written follows it", arguments: [0, 3, 100])
    func order(takesNow: Int) async throws {
        let later = Watched<WebSocketOutbox?>(nil)
        let wire = Wire(takesNow: takesNow) { _ = later.value?.trySend(.text("second"), peerWaits: true) }
        let outbox = Self.outbox(wire)
        later.change { $0 = outbox }
        let written = Watched<[UInt8]>([])
        let writer = Self.writer(outbox, written)
        try await eventually { outbox.isWriterWaiting }
        #expect(outbox.trySend(.text("first"), peerWaits: true))
        later.change { $0 = nil }
        try await Self.end(writer, of: outbox)
        #expect(wire.sentNow.value + written.value == Self.frame("first") + Self.frame("second"))
    }

    @Test(
        "the writer writes messages sent before it began, and those that are not to be sent at once",
        arguments: [true, false])
    func byTheWriter(isAnswer: Bool) async throws {
        let wire = Wire(takesNow: 100)
        let outbox = Self.outbox(wire)
        let written = Watched<[UInt8]>([])
        if isAnswer { #expect(outbox.trySend(.text("early"), peerWaits: true)) }
        let writer = Self.writer(outbox, written)
        try await eventually { outbox.isWriterWaiting }
        if !isAnswer { #expect(outbox.trySend(.text("early"), peerWaits: false)) }
        try await Self.end(writer, of: outbox)
        #expect(wire.sentNow.value.isEmpty && written.value == Self.frame("early"))
    }

    @Test("bytesQueued counts all bytes, whether they wait or were written", arguments: [0, 3, 100])
    func counts(takesNow: Int) async throws {
        let outbox = Self.outbox(Wire(takesNow: takesNow))
        let written = Watched<[UInt8]>([])
        #expect(outbox.trySend(.text("first"), peerWaits: false))
        #expect(outbox.bytesQueued == 7 && outbox.bytesWaiting == 7)
        let pieces = try #require(await outbox.next())
        #expect(outbox.recordSent(3) == 0 && outbox.recordSent(pieces.count - 3) == 3)
        #expect(outbox.bytesQueued == 7 && outbox.bytesWaiting == 0)
        let writer = Self.writer(outbox, written)
        try await eventually { outbox.isWriterWaiting }
        #expect(outbox.trySend(.text("second"), peerWaits: true))
        #expect(outbox.bytesQueued == 15)
        try await Self.end(writer, of: outbox)
        #expect(outbox.bytesQueued == 15 && outbox.bytesWaiting == 0)
    }

    @Test("ending the outbox while an answer is written ends the writer", arguments: [true, false])
    func end(aborts: Bool) async throws {
        let later = Watched<WebSocketOutbox?>(nil)
        let wire = Wire(takesNow: 2) {
            if aborts { later.value?.abort() } else { later.value?.finish(last: [3, 232]) }
        }
        let outbox = Self.outbox(wire)
        later.change { $0 = outbox }
        let written = Watched<[UInt8]>([])
        let writer = Self.writer(outbox, written)
        try await eventually { outbox.isWriterWaiting }
        #expect(outbox.trySend(.text("answer"), peerWaits: true))
        later.change { $0 = nil }
        await writer.value
        #expect(written.value == (aborts ? [] : Self.frame("answer").dropFirst(2) + [0x88, 2, 3, 232]))
        #expect(!outbox.trySend(.text("late"), peerWaits: true))
    }

    @Test("a sender that waits for room continues when the message before it was written")
    func room() async throws {
        let gate = Gate()
        let wire = Wire(takesNow: 1000)
        let outbox = Self.outbox(wire, limit: 4)
        #expect(outbox.trySend(.text("fills it"), peerWaits: false))
        #expect(!outbox.trySend(.text("no room"), peerWaits: true))
        let sender = Task {
            gate.open()
            return try await outbox.send(.text("waits"))
        }
        try await gate.wait()
        let written = Watched<[UInt8]>([])
        let writer = Self.writer(outbox, written)
        #expect(try await sender.value)
        try await Self.end(writer, of: outbox)
        #expect(written.value == Self.frame("fills it") + Self.frame("waits"))
    }

    @Test("masking keys differ in each of their bytes, within a connection and between two")
    func keys() {
        var (one, other) = (MaskKeys(), MaskKeys())
        let keys = (0..<500).map { _ in one.next() }
        let others = (0..<500).map { _ in other.next() }
        // By chance a few of 1,000 random numbers of 32 bits may be equal.
        #expect(Set(keys + others).count > 990)
        // A counter has few values in its upper bytes.
        for position in 0..<4 { #expect(Set(keys.map { $0.byte(position) }).count > 100) }
    }

    @Test("one answer for each message may be sent at once, if no other message waits")
    func turns() async throws {
        let inbox = WebSocketInbox(limit: 1000)
        #expect(!inbox.claimAnswer())
        _ = inbox.put(.text("a"))
        _ = inbox.put(.text("b"))
        #expect(try await inbox.next() == .text("a"))
        #expect(!inbox.claimAnswer())
        #expect(inbox.nextNow() == .text("b"))
        #expect(inbox.nextNow() == nil)
        #expect(inbox.claimAnswer())
        #expect(!inbox.claimAnswer())
    }

    @Test(
        "a reader does not miss an end that occurs just before it waits for room", .timeLimit(.minutes(1)))
    func endBeforeWaiting() async {
        let inbox = WebSocketInbox(limit: 1)
        #expect(!inbox.put(.text("fills it")))
        await inbox.untilRoom { true }
        // The interruption occurs between the question and the wait.
        await inbox.untilRoom {
            inbox.interrupt()
            return false
        }
        #expect(inbox.nextNow() == .text("fills it"))
    }

    @Test("an outbox without a limit accepts a pong")
    func noLimit() {
        let outbox = Self.outbox(Wire(takesNow: 0), limit: .max)
        outbox.control(.pong, [1, 2, 3])
        #expect(outbox.bytesWaiting == 5)
    }
}
