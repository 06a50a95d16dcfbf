internal import CurlewCore
internal import Foundation

@testable import Curlew
@testable import CurlewTesting

/// The server's end of a WebSocket: sends what a script says, and reads what the client sends.
final class ScriptedPeer {
    let wire: MemoryWire
    /// The first line and the fields of the handshake's request.
    private(set) var request: (line: String, headers: HTTPHeaders) = ("", [:])
    private var receiver: WebSocketReceiver
    private var sender = WebSocketSender(role: .server)
    private var unread = Data()

    init(_ wire: MemoryWire) {
        self.wire = wire
        receiver = WebSocketReceiver(sender: .client, limits: .init())
    }

    // MARK: Handshake

    /// Reads the request. Returns false if the client has disconnected.
    func readRequest() async -> Bool {
        while true {
            if let end = unread.range(of: Data("\r\n\r\n".utf8)) {
                let lines = String(decoding: unread[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
                unread = Data(unread[end.upperBound...])
                let fields = lines.dropFirst().compactMap { line -> HTTPHeader? in
                    guard let colon = line.firstIndex(of: ":") else { return nil }
                    return HTTPHeader(
                        name: String(line[..<colon]), value: String(line[line.index(colon, offsetBy: 2)...]))
                }
                request = (lines[0], HTTPHeaders(received: fields))
                return true
            }
            guard let bytes = await wire.incoming.read() else { return false }
            unread.append(bytes)
        }
    }

    func answer(_ text: String) async { _ = await wire.outgoing.write(Array(text.utf8)) }

    /// Opens the WebSocket, with `changes` to the fields of the response.
    func accept(
        protocols: [String] = [], compresses: Bool = false, extra: [UInt8] = [], isRead: Bool = false,
        _ changes: [String: String] = [:]
    ) async {
        if !isRead { guard await readRequest() else { return } }
        let acceptance = WebSocketAcceptance(
            method: "GET", version: .http1_1, headers: request.headers, protocols: protocols, compresses: compresses)
        guard case .accept(var headers, let agreement) = acceptance else {
            await answer("HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n")
            return
        }
        for (name, value) in changes { headers.add(name: name, value: value) }
        if let agreed = agreement.compression {
            sender = WebSocketSender(role: .server, compressor: MessageCompressor(agreed, role: .server))
            receiver = WebSocketReceiver(
                sender: .client, limits: .init(), decompressor: MessageDecompressor(agreed, sender: .client))
        }
        let fields = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        _ = await wire.outgoing.write(Array("HTTP/1.1 101 Switching\r\n\(fields)\r\n".utf8) + extra)
    }

    // MARK: Frames

    func send(_ opcode: WebSocketOpcode, _ payload: [UInt8] = []) async {
        var bytes: [UInt8] = []
        payload.withUnsafeBytes { sender.append(opcode, $0, key: .init(bits: 0), to: &bytes) }
        await raw(bytes)
    }

    func send(_ text: String) async { await send(.text, Array(text.utf8)) }

    func close(_ code: UInt16, _ reason: String = "") async {
        await send(.close, [UInt8(code >> 8), UInt8(code & 0xFF)] + reason.utf8)
    }

    func raw(_ bytes: [UInt8]) async { _ = await wire.outgoing.write(bytes) }

    /// Returns the client's next event, or `nil` at the end.
    func next() async -> WebSocketEvent? {
        while true {
            if let event = parse() { return event }
            guard let bytes = await wire.incoming.read() else { return nil }
            unread.append(bytes)
        }
    }

    /// Sends messages back until the client closes, and then closes as a server does.
    func echo() async {
        while let event = await next() {
            switch event {
            case .message(.text(let text)): await send(.text, Array(text.utf8))
            case .message(.data(let data)): await send(.binary, Array(data))
            case .ping(let payload): await send(.pong, payload)
            case .pong: break
            case .close(let code, _):
                await send(.close, WebSocketClosePayload(code).bytes)
                return wire.close()
            }
        }
    }

    private func parse() -> WebSocketEvent? {
        let (event, taken) = unread.withUnsafeBytes { whole in
            var input = whole
            let event = try? receiver.next(&input)
            return (event, whole.count - input.count)
        }
        unread = Data(unread.dropFirst(taken))
        return event
    }
}

/// A transport that connects to scripted peers.
final class ScriptedTransport: ConnectTransport {
    typealias Script = @Sendable (ScriptedPeer) async -> Void

    private struct State: Sendable {
        var scripts: [Script]
        var running: [Task<Void, Never>] = []
        var wires: [MemoryWire] = []
        var urls: [URL] = []
    }

    private let state: Watched<State>

    /// Each connection runs the next script; the last script serves all further connections.
    init(_ scripts: Script...) { state = Watched(State(scripts: scripts)) }

    var urls: [URL] { state.value.urls }
    /// The client's ends of the connections.
    var wires: [MemoryWire] { state.value.wires }

    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        throw .unsupported(feature: "ordinary requests", needs: "a server")
    }

    func connect(
        _ request: TransferRequest, sendBuffer: Int
    ) async throws(CurlewError) -> any ByteConnection {
        let (up, down) = (MemoryPipe(), MemoryPipe())
        let client = MemoryWire(incoming: down, outgoing: up)
        let script = state.change { state in
            state.wires.append(client)
            state.urls.append(request.url)
            return state.scripts.count > 1 ? state.scripts.removeFirst() : state.scripts[0]
        }
        let task = Task { await script(ScriptedPeer(MemoryWire(incoming: up, outgoing: down))) }
        state.change { $0.running.append(task) }
        return client
    }

    /// Returns when every script has ended.
    func scriptsEnded() async { for task in state.value.running { await task.value } }
}
