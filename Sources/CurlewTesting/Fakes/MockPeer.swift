internal import CurlewCore
internal import Foundation

/// The server end of an in-memory connection: reads the WebSocket handshake, then follows a script or sends a canned
/// response.
struct MockPeer: Sendable {
    enum Answer: Sendable {
        case webSocket(TestServer.WebSocketScript)
        case response(MockResponse)
    }

    let wire: MemoryWire

    /// Reads the request's head and serves what `answer` returns for it; an error that `answer` throws fails the
    /// connection.
    func serve(_ answer: (HTTPHeaders) async throws(CurlewError) -> Answer) async {
        guard let (headers, rest) = await readHead() else { return }
        do throws(CurlewError) {
            switch try await answer(headers) {
            case .webSocket(let script): await converse(by: script, headers, rest)
            case .response(let response): try await send(response)
            }
        } catch {
            wire.fail(with: error)
        }
    }

    // MARK: The opening

    private func readHead() async -> (HTTPHeaders, Data)? {
        var bytes = Data()
        while true {
            if let end = bytes.range(of: Data("\r\n\r\n".utf8)) {
                let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
                let fields = lines.dropFirst().map { line in
                    let parts = line.split(separator: ":", maxSplits: 1)
                    return HTTPHeader(
                        name: String(parts.first ?? ""),
                        value: parts.count < 2 ? "" : parts[1].trimmingCharacters(in: .whitespaces))
                }
                return (HTTPHeaders(received: fields), Data(bytes[end.upperBound...]))
            }
            guard let more = await wire.incoming.read() else { return nil }
            bytes.append(more)
        }
    }

    private func send(_ response: MockResponse) async throws(CurlewError) {
        if let gate = response.gate { guard (try? await gate.wait()) != nil else { return } }
        if response.failsAtOnce, let error = response.error { throw error }
        for head in response.interim { await send(head, behind: "") }
        // The closed connection marks the end of the body.
        await send(response.head, behind: "Connection: close\r\n")
        for piece in response.body {
            switch piece {
            case .wait(let gate): guard (try? await gate.wait()) != nil else { return }
            case .bytes(let data): guard await wire.outgoing.write(data) else { return }
            }
        }
        if let error = response.error { throw error }
        wire.outgoing.close()
    }

    private func send(_ head: ResponseHead, behind last: String) async {
        let fields = head.headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        _ = await wire.outgoing.write(Array("HTTP/1.1 \(head.status) \(head.reason)\r\n\(fields)\(last)\r\n".utf8))
    }

    // MARK: The WebSocket

    private func converse(by script: TestServer.WebSocketScript, _ headers: HTTPHeaders, _ rest: Data) async {
        let acceptance = WebSocketAcceptance(
            method: "GET", version: .http1_1, headers: headers, protocols: script.protocols,
            compresses: script.compresses)
        switch acceptance {
        case .refuse(let status, let fields, let reason):
            var response = MockResponse.text("\(reason)\n", status: status)
            for field in fields { response.headers.append(field) }
            try? await send(response)
        case .accept(var fields, let agreement):
            script.changesAnswer?(&fields)
            await send(ResponseHead(status: 101, reason: "Switching Protocols", headers: fields), behind: "")
            await follow(AgreedConversation(script: script, compression: agreement.compression), rest)
        }
    }

    private func follow(_ agreed: AgreedConversation, _ rest: Data) async {
        let conversation = WebSocketConversation(agreed)
        var input = InputBuffer()
        rest.withUnsafeBytes { input.append($0) }
        while !Task.isCancelled {
            switch conversation.next(&input) {
            case .write(let bytes): guard await wire.outgoing.write(bytes) else { return }
            case .read:
                guard let more = await wire.incoming.read() else { return }
                more.withUnsafeBytes { input.append($0) }
            case .wait(let duration): try? await Task.sleep(for: duration)
            case .waitFor(let gate): try? await gate.wait()
            case .end(let steps):
                for step in steps { await end(by: step) }
                return
            }
        }
    }

    private func end(by step: Step) async {
        switch step {
        case .send(let bytes): _ = await wire.outgoing.write(bytes)
        case .halfClose: wire.outgoing.close()
        case .drain: while await wire.incoming.read() != nil {}
        case .stall: await wire.outgoing.untilClosed()
        case .reset:
            wire.fail(
                with: CurlewError(.receiveFailed, phase: .receive, reason: "the mock's peer has reset the connection"))
        default: wire.close()
        }
    }
}

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
