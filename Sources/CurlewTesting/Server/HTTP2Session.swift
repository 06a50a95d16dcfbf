internal import CurlewCore
internal import Foundation

/// The streams of one HTTP/2 connection. Used only on the server's thread.
final class HTTP2Session {
    private let server: ServerCore
    private let connection: Int
    private let peerPort: Int
    private let wakeLater: @Sendable (_ stream: UInt32) -> Void
    private var machine: HTTP2Machine
    private var exchanges: [HTTP2Exchange] = []
    private var exchangeCount = 0
    /// Responses for the next exchanges of this connection, whatever their paths.
    private var script: [TestServer.Response]
    /// Whether the `.beforeReading` faults of the script's first response have happened.
    private let hasScriptBegun: Bool
    /// The steps that end the connection, performed after all pending output has been sent.
    private(set) var ending: [Step]?
    /// The earliest time at which a waiting stream continues.
    private(set) var wakeTime: ContinuousClock.Instant?

    init(_ connection: Connection) {
        server = connection.server
        self.connection = connection.number
        peerPort = connection.peerPort
        wakeLater = connection.wakeLater
        hasScriptBegun = connection.chosen != nil
        script = (connection.chosen.map { [$0] } ?? []) + connection.script
        var limits = HTTP2Limits()
        limits.headerBlock = server.configuration.headLimit
        limits.headerList = server.configuration.headLimit
        machine = HTTP2Machine(limits: limits)
    }

    var hasOutput: Bool { !machine.output.isEmpty }
    var hasMuchOutput: Bool { machine.output.count > HTTP2Exchange.outputLimit }

    func takeOutput() -> [UInt8] { machine.takeOutput() }

    func gateOpened(_ stream: UInt32) { exchange(stream)?.stepWait.gateOpened() }

    /// Called when the peer leaves.
    func recordAborted() {
        for exchange in exchanges { exchange.recordAborted() }
        exchanges = []
    }

    /// Processes received bytes.
    func receive(_ input: inout InputBuffer) {
        let events = machine.receive(input.prefix(input.count))
        input.consume(input.count)
        for event in events {
            switch event {
            case .request(let stream, let head, let isLast):
                begin(stream, head, isComplete: isLast)
            case .data(let stream, let bytes):
                bytes.withUnsafeBytes { exchange(stream)?.arrived.append($0) }
            case .end(let stream, let trailers):
                exchange(stream)?.end = trailers
            case .reset(let stream):
                exchange(stream)?.recordAborted()
                exchanges.removeAll { $0.stream == stream }
            case .failed:
                recordAborted()
                ending = Step.ending
            }
        }
    }

    /// Gives every stream a turn; returns true if one of them can continue at once.
    func advance(_ now: ContinuousClock.Instant) -> Bool {
        guard ending == nil else { return false }
        wakeTime = nil
        var hasMoved = false
        // The order rotates, so that scarce output space is shared.
        if exchanges.count > 1 { exchanges.append(exchanges.removeFirst()) }
        var over: Set<UInt32> = []
        for exchange in exchanges {
            switch exchange.run(now, &machine) {
            case .moved: hasMoved = true
            case .waits(let time):
                if let time { wakeTime = wakeTime.map { min($0, time) } ?? time }
            case .over:
                machine.close(exchange.stream)
                over.insert(exchange.stream)
            case .endsConnection(let steps):
                ending = steps
                return true
            }
        }
        if !over.isEmpty { exchanges.removeAll { over.contains($0.stream) } }
        if machine.isLeaving || machine.isPeerLeaving, exchanges.isEmpty { ending = Step.ending }
        return hasMoved || !over.isEmpty
    }

    private func exchange(_ stream: UInt32) -> HTTP2Exchange? { exchanges.first { $0.stream == stream } }

    private func begin(_ stream: UInt32, _ head: HTTP2RequestHead, isComplete: Bool) {
        exchangeCount += 1
        let request = TestServer.Request(
            method: head.method,
            target: head.target,
            version: .http2,
            headers: head.headers,
            connection: connection,
            indexOnConnection: exchangeCount,
            peerPort: peerPort,
            serverPort: server.port,
            isSecure: server.isSecure
        )
        exchanges.append(
            HTTP2Exchange(
                stream: stream,
                request: request,
                isComplete: isComplete,
                script: script.isEmpty ? nil : script.removeFirst(),
                hasBegun: exchangeCount == 1 && hasScriptBegun,
                server: server,
                wakeLater: { [wakeLater] in wakeLater(stream) }
            ))
    }
}
