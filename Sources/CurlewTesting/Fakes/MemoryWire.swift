internal import CurlewCore
internal import Foundation

/// One direction of an in-memory connection. A writer waits while `limit` bytes are unread, as with a socket buffer.
final class MemoryPipe: Sendable {
    private struct State: Sendable {
        var bytes = Data()
        var written = 0
        var isClosed = false
        /// The error that the reader throws instead of reporting the end.
        var failure: CurlewError?
    }

    private let state = Watched(State())
    private let limit: Int

    init(limit: Int = 64 * 1024) { self.limit = limit }

    var written: Int { state.value.written }
    var isClosed: Bool { state.value.isClosed }
    var failure: CurlewError? { state.value.failure }

    /// Returns false if the pipe was closed or the task was cancelled.
    func write(_ bytes: some Collection<UInt8> & Sendable) async -> Bool {
        guard await state.wait(until: { [limit] in $0.isClosed || $0.bytes.count < limit }) else { return false }
        return state.change { state in
            guard !state.isClosed else { return false }
            state.bytes.append(contentsOf: bytes)
            state.written += bytes.count
            return true
        }
    }

    /// Returns all unread bytes; `nil` at the end, after a failure, or if the task was cancelled.
    func read() async -> Data? {
        guard await state.wait(until: { $0.isClosed || !$0.bytes.isEmpty }) else { return nil }
        return state.change { state in
            defer { state.bytes = Data() }
            return state.bytes.isEmpty ? nil : state.bytes
        }
    }

    func untilClosed() async { _ = await state.wait { $0.isClosed } }

    func close(with failure: CurlewError? = nil) {
        state.change { state in
            guard !state.isClosed else { return }
            state.isClosed = true
            state.failure = failure
            if failure != nil { state.bytes = Data() }
        }
    }
}

/// One end of an in-memory connection.
final class MemoryWire: ByteConnection {
    let incoming: MemoryPipe
    let outgoing: MemoryPipe
    private let onClose: @Sendable () -> Void

    init(incoming: MemoryPipe, outgoing: MemoryPipe, onClose: @escaping @Sendable () -> Void = {}) {
        self.incoming = incoming
        self.outgoing = outgoing
        self.onClose = onClose
    }

    var metrics: TransferMetrics { TransferMetrics(queued: Date(), ended: Date()) }

    func receive(maximum: Int) async throws(CurlewError) -> [UInt8]? {
        if let bytes = await incoming.read() { return Array(bytes) }
        if let failure = incoming.failure { throw failure }
        return nil
    }

    func send(_ bytes: [UInt8]) async throws(CurlewError) {
        guard await outgoing.write(bytes) else {
            throw CurlewError(.sendFailed, phase: .send, reason: "the peer has closed the connection")
        }
    }

    func finishSending() async throws(CurlewError) { outgoing.close() }

    func close() {
        incoming.close()
        outgoing.close()
        onClose()
    }

    /// Closes both directions; the peer's reader throws the error.
    func fail(with error: CurlewError) {
        outgoing.close(with: error)
        close()
    }
}
