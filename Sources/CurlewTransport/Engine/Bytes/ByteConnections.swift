internal import CCurl
internal import CurlewCore
internal import Foundation

/// The byte connections of one engine: how they begin, are served, and end.
///
/// A byte connection has two sides: the `CurlByteConnection` of its user, on any thread, and the `LoopByteConnection`
/// that reads and writes in the loop's turns. The user's calls arrive as `ByteConnectionCommand`s; both sides share a
/// `SendQueue`. `OpenConnections` lists the connections of exchanges as well.
///
/// Used only in the loop's turns, as is `Transfers`; debug builds assert this at most entries.
final class ByteConnections {
    private let sockets: Sockets
    private let handles: Handles
    private let loop: EngineLoop
    private var live: [Int: LoopByteConnection] = [:]
    private var byDescriptor: [Int32: LoopByteConnection] = [:]
    private var lastNumber = 0
    private var isShutDown = false
    /// Shared by all connections: bytes that are read are copied out before anything else happens.
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 * 1024, alignment: 16)

    init(sockets: Sockets, handles: Handles, loop: EngineLoop) {
        (self.sockets, self.handles, self.loop) = (sockets, handles, loop)
    }

    deinit { scratch.deallocate() }

    var count: Int { live.count }
    var openSockets: Set<Int32> { Set(byDescriptor.keys) }

    /// Takes over the handle of a connection that is up; `nil` if libcurl has closed the connection already.
    func adopt(_ easy: TransferHandle, of transfer: ActiveTransfer) -> CurlByteConnection? {
        loop.assertOnLoop()
        let fd = curlew_get_socket(easy.handle)
        guard fd >= 0 else { return nil }
        lastNumber += 1
        let isPlain = !transfer.plan.isTLS && !transfer.mayUseTLSProxy(sockets.settings)
        let queue = SendQueue(limit: transfer.plan.sendBuffer ?? 1, socket: isPlain ? fd : nil)
        let connection = LoopByteConnection(
            number: lastNumber, fd: fd, easy: easy, queue: queue, url: transfer.request.url, isPlain: isPlain)
        connection.readFirst(scratch)
        live[lastNumber] = connection
        byDescriptor[fd] = connection
        return CurlByteConnection(
            number: lastNumber, queue: queue, loop: transfer.loop, metrics: transfer.result.metrics)
    }

    func execute(_ command: ByteConnectionCommand, for number: Int) {
        loop.assertOnLoop()
        guard let connection = live[number] else {
            return command.fail(isShutDown ? .transportShutDown : .connectionClosed())
        }
        if case .close = command { return end(connection, .connectionClosed()) }
        connection.execute(command, scratch)
        watch(connection)
    }

    /// Called when the poller has an event for a connection.
    func socketReady(_ ready: Poller.Ready) {
        loop.assertOnLoop()
        guard let connection = byDescriptor[ready.fd] else { return }
        if !ready.readiness.isDisjoint(with: [.write, .error, .closed, .hangUp]) { connection.write() }
        if !ready.readiness.isDisjoint(with: [.read, .error, .closed, .hangUp]) { connection.readable(scratch) }
        watch(connection)
    }

    /// Makes the poller watch for the events that the connection waits for. Without a waiting reader nothing is read,
    /// which stops the peer.
    private func watch(_ connection: LoopByteConnection) {
        let wanted = connection.wanted
        guard wanted != connection.watched else { return }
        connection.watched = wanted
        sockets.setEvents(wanted, of: connection.fd, owner: .byteConnection)
    }

    func closeAll() {
        loop.assertOnLoop()
        isShutDown = true
        for connection in live.values { end(connection, .transportShutDown) }
    }

    private func end(_ connection: LoopByteConnection, _ error: CurlewError) {
        live[connection.number] = nil
        byDescriptor[connection.fd] = nil
        connection.end(error)
        // This makes libcurl close the connection.
        handles.closeByteConnection(of: connection.easy)
    }
}

extension Transfers {
    /// Called when the byte connection that the transfer was to make is up. The connection outlives the transfer.
    func byteConnectionOpened(_ transfer: ActiveTransfer, _ easy: TransferHandle) {
        transfer.measure(easy)
        guard let connection = byteConnections.adopt(easy, of: transfer) else {
            return fail(transfer, transfer.makeError(.connectFailed, "the connection was closed at once"))
        }
        transfer.result.byteConnection = connection
        stopConnecting(transfer)
        // The handle stays in its multi handle, through which alone libcurl finds the connection.
        easy.transfer = nil
        transfer.detach()
        handlesInUse -= 1
        release(transfer)
    }
}

/// A call of a byte connection's user, for the loop.
enum ByteConnectionCommand: Sendable {
    typealias Answer<Value: Sendable> = UnsafeContinuation<Result<Value, CurlewError>, Never>

    case receive(Int, maximum: Int, Answer<[UInt8]?>)
    case send([UInt8])
    case awaitRoom(Int, Answer<Void>)
    case finish(Int, Answer<Void>)
    /// The task that waits was cancelled.
    case abandon(Int)
    case close

    /// Answers a command that cannot be executed.
    func fail(_ error: CurlewError) {
        switch self {
        case .receive(_, _, let answer): answer.resume(returning: .failure(error))
        case .awaitRoom(_, let answer), .finish(_, let answer): answer.resume(returning: .failure(error))
        case .send, .abandon, .close: break
        }
    }
}

extension CurlewError {
    static let transportShutDown = CurlewError(
        .sessionClosed, phase: .lifecycle, reason: "the transport is shut down")

    static func connectionClosed(_ url: URL? = nil) -> CurlewError {
        CurlewError(.cancelled, phase: .lifecycle, reason: "the connection was closed", url: url)
    }
}

/// The calls of one kind that wait at a byte connection, in order.
struct WaitingCalls<Value: Sendable> {
    struct Wait {
        let number: Int
        let answer: ByteConnectionCommand.Answer<Value>
        /// The most bytes that a reader accepts.
        var maximum = 0
    }

    private var waits: [Wait] = []

    var isEmpty: Bool { waits.isEmpty }
    var first: Wait? { waits.first }

    mutating func append(_ wait: Wait) { waits.append(wait) }

    mutating func answerFirst(_ result: Result<Value, CurlewError>) {
        waits.removeFirst().answer.resume(returning: result)
    }

    mutating func answerAll(_ result: Result<Value, CurlewError>) {
        while !waits.isEmpty { answerFirst(result) }
    }

    /// Ends the wait of a cancelled task. Ignores a wait that has been answered already.
    mutating func abandon(_ number: Int, _ error: CurlewError) {
        guard let index = waits.firstIndex(where: { $0.number == number }) else { return }
        waits.remove(at: index).answer.resume(returning: .failure(error))
    }
}
