public import CurlewCore
internal import CurlewLocks
public import Foundation

extension WebSocketRequest {
    // MARK: Receiving

    /// The messages as they come. One task reads them.
    ///
    /// Leaving the loop closes the WebSocket with code 1000, and does not wait for the server.
    public var messages: WebSocketMessages {
        WebSocketMessages(open: { [self] in
            WebSocketReader(link.inbox, start: { WebSocketRun.start(self) }, leave: { [weak self] in self?.leave() })
        })
    }

    /// The head of the server's answer, when the WebSocket is open.
    @discardableResult
    public func opened() async throws(CurlewError) -> ResponseHead { try await opening().head }

    // MARK: Sending

    /// Sends text. Returns when there is room for more, and waits for the WebSocket to be open.
    public func send(_ text: String) async throws(CurlewError) { try await send(.text, Array(text.utf8)) }

    /// Sends bytes. Returns when there is room for more, and waits for the WebSocket to be open.
    public func send(_ data: Data) async throws(CurlewError) { try await send(.binary, Array(data)) }

    /// Sends a message.
    public func send(_ message: WebSocketMessage) async throws(CurlewError) {
        switch message {
        case .text(let text): try await send(text)
        case .data(let data): try await send(data)
        }
    }

    /// Sends a value as text.
    public func send<Value: Encodable & Sendable>(
        json value: Value, encoder: JSONEncoder = JSONEncoder()
    ) async throws(CurlewError) {
        let data: Data
        do {
            data = try encoder.encode(value)
        } catch {
            throw CurlewError(
                .parameterEncodingFailed, phase: .send, reason: "the value could not be encoded", underlying: error)
        }
        try await send(.text, Array(data))
    }

    /// Sends a ping and returns how long its pong took.
    @discardableResult
    public func ping() async throws(CurlewError) -> Duration {
        _ = try await opening()
        return try await link.ping()
    }

    // MARK: Closing

    /// Performs the closing handshake: sends what waits to be sent, then the code, and returns when the server has
    /// answered or `closeTimeout` has passed. Messages that come meanwhile are dropped.
    ///
    /// A WebSocket that is not open yet is cancelled. One that has ended stays as it is.
    public func close(
        code: WebSocketCloseCode = .normalClosure, reason: String? = nil
    ) async throws(CurlewError) {
        guard link.beginClosing(code, reason: reason) else {
            cancel()
            return
        }
        guard await link.ended.wait() != nil else {
            throw CurlewError(.cancelled, phase: .lifecycle, reason: "the closing task was cancelled")
        }
    }

    /// Why the WebSocket ended: the code of the server's close frame, 1005 where it had none, 1006 where there was no such
    /// frame. nil while it has not ended.
    public var closeCode: WebSocketCloseCode? { link.ending?.closeCode }

    /// The reason in the server's close frame.
    public var closeReason: String? { link.ending?.closeReason }

    /// The subprotocol that the server selected.
    public var selectedProtocol: String? {
        guard case .success(let opening)? = link.opening.value else { return nil }
        return opening.agreement.selectedProtocol
    }

    // MARK: Steps

    private func opening() async throws(CurlewError) -> WebSocketLink.Opening {
        WebSocketRun.start(self)
        guard let result = await link.opening.wait() else {
            throw CurlewError(.cancelled, phase: .lifecycle, reason: "the waiting task was cancelled")
        }
        return try result.get()
    }

    private func send(_ opcode: WebSocketOpcode, _ payload: [UInt8]) async throws(CurlewError) {
        _ = try await opening()
        guard try await link.outbox.send(opcode, payload) else { throw link.refusal }
    }

    /// The reader has left.
    func leave() {
        if !link.beginClosing(.normalClosure, reason: nil) { cancel() }
    }
}
