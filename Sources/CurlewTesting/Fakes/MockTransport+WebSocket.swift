package import CurlewCore
internal import Foundation

extension MockTransport {
    /// Opens an in-memory WebSocket for every handshake at a path such as `/feed` or `/rooms/{id}`, and follows the
    /// script. A handshake at any other path is answered like an ordinary request.
    ///
    ///     let transport = MockTransport()
    ///     transport.webSocket("/feed", TestServer.WebSocketScript([.send(.text("one")), .close(.goingAway)]))
    ///     let socket = Session(transport: transport).webSocket("wss://example.org/feed")
    ///
    /// Pauses in the script take real time; with a `Gate`, the test decides when to continue.
    public func webSocket(_ pattern: String, _ script: TestServer.WebSocketScript) {
        state.change { $0.webSockets.append((PathPattern(pattern), script)) }
    }
}

extension MockTransport: ConnectTransport {
    package func connect(
        _ request: TransferRequest, sendBuffer: Int
    ) async throws(CurlewError) -> any ByteConnection {
        let (up, down) = (MemoryPipe(), MemoryPipe())
        let peer = MockPeer(wire: MemoryWire(incoming: up, outgoing: down))
        let index = state.change { state -> Int? in
            guard !state.isShutDown else { return nil }
            state.started += 1
            return state.started - 1
        }
        guard let index else {
            throw located(CurlewError(.sessionClosed, phase: .lifecycle), request)
        }
        let task = state.change { state in
            // The task is created under the lock, so that it cannot remove itself from `peers` before it is stored
            // there.
            let task = Task {
                await peer.serve { headers throws(CurlewError) in try await self.answer(request, headers, index) }
                self.state.change { $0.peers[index] = nil }
            }
            state.peers[index] = task
            if state.isShutDown { task.cancel() }
            return task
        }
        return MemoryWire(incoming: down, outgoing: up) { task.cancel() }
    }

    private func answer(
        _ request: TransferRequest, _ headers: HTTPHeaders, _ index: Int
    ) async throws(CurlewError) -> MockPeer.Answer {
        var seen = request
        seen.headers = headers
        let asked = MockRequest(transfer: seen, body: Data(), index: index)
        let script = state.change { state in
            state.requests.append(asked)
            let path = request.url.path(percentEncoded: true)
            return state.webSockets.last { $0.pattern.match(path) != nil }?.script
        }
        if let script { return .webSocket(script) }
        do {
            return .response(try await respond(to: asked))
        } catch {
            if let error = error as? CurlewError { throw error }
            throw CurlewError(.receiveFailed, phase: .waiting, reason: "the mock's closure threw", underlying: error)
        }
    }
}
