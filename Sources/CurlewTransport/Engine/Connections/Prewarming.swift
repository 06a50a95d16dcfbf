internal import CCurl
internal import CurlewCore
internal import Foundation

// A connection for later requests is made by a transfer that ends before it sends: libcurl looks at
// CURLOPT_CONNECT_ONLY after the prerequest callback, and the callback sets it. Whether a connection may be used again
// was decided when it was made, without the option, so it goes into the pool as after any exchange. (With the option
// from the beginning, as for byte connections, no request could use it.)
extension ActiveTransfer {
    /// Ends the transfer instead of sending its request. Called in the prerequest callback.
    func stopBeforeSending(_ transfers: Transfers) -> Bool {
        guard let easy, curlew_set_long(easy.handle, CURLOPT_CONNECT_ONLY, 1) == CURLE_OK else {
            failure = makeError(.`internal`, "libcurl refuses to stop before the request")
            return false
        }
        // From here on the connection counts as one that is in use, not as one that is being opened.
        clocks.sendingStarted(at: transfers.now)
        return true
    }
}

// After a handshake of TLS 1.3 the server sends session tickets. Usually libcurl reads them with the response. On an
// idle HTTP/1 connection they look like bytes that nobody has asked for: libcurl from 8.0 on closes such a connection
// instead of using it again, and the engine does so with older versions (`hasUnaskedBytes`). So the transfer keeps the
// connection for as long as tickets usually take, and reads them. Over HTTP/2, libcurl reads the received bytes before
// it uses the connection again, but older versions take the connection for dead if only tickets have arrived. With
// these, the transfer reads nothing and lets the whole time pass, until the server's first frames have arrived as well.
// Requests may take the connection meanwhile.
extension Transfers {
    /// Called when a connection for later requests is up.
    func prewarmed(_ transfer: ActiveTransfer, _ easy: TransferHandle) {
        transfer.measure(easy)
        if !settle(transfer, easy) { release(transfer) }
    }

    /// Waits for the time in which a server sends its first messages on a new connection. Returns false if none are
    /// expected.
    func settle(_ transfer: ActiveTransfer, _ easy: TransferHandle) -> Bool {
        let speaksTLS13 = transfer.plan.isTLS && (transfer.result.metrics.tlsVersion ?? "TLSv1.3") == "TLSv1.3"
        guard speaksTLS13 || transfer.mayUseTLSProxy(settings), curlew_get_long(easy.handle, CURLINFO_NUM_CONNECTS) > 0,
            let name = transfer.connection.name, let (socket, connection) = sockets.connections.find(name),
            socket == curlew_get_socket(easy.handle), let version = connection.version,
            version == .http1_1 || version == .http2 && settings.quirks.takesTicketsForEnd
        else { return false }
        // A request may have taken the connection within the same call of libcurl. Then it reads the tickets and its
        // response, and nothing may be read here.
        var isTaken = false
        forEach(over: name) { isTaken = isTaken || !$0.plan.prewarms }
        guard !isTaken else { return false }
        // The turn may have begun long ago, with the handshakes of other connections.
        let now = LoopInstant.now()
        // As long as the handshake between two tickets, and twice as long in all, within bounds.
        var (patience, pause): (UInt64, UInt64) = (250_000_000, 20_000_000)
        if let began = transfer.result.metrics.connected, let ended = transfer.result.metrics.tlsEstablished {
            pause = max(pause, UInt64(min(max(0, ended.timeIntervalSince(began)), 1) * 1_000_000_000))
            patience = min(max(patience, 2 * pause), 1_000_000_000)
        }
        transfer.clocks.settlingStarted(for: patience, at: now)
        clockChanged(transfer)
        if version == .http1_1 {
            watch(socket, of: transfer, until: now.advanced(byNanoseconds: patience), pause: pause)
        }
        return true
    }

    private func watch(_ socket: Int32, of transfer: ActiveTransfer, until end: LoopInstant, pause: UInt64) {
        settling[socket] = SettlingTransfer(
            transfer: transfer, end: end.advanced(byNanoseconds: pause), pause: pause)
        transfer.connection.settlingSocket = socket
        // The first read binds the connection to the handle, so that no request takes it.
        socketReady(ofSettling: socket)
        if settling[socket]?.transfer === transfer {
            sockets.setEvents(.read, of: socket, owner: .settlingTransfer)
        }
    }

    /// Called when bytes or an end have arrived on a connection that is watched.
    func socketReady(ofSettling socket: Int32) {
        loop.assertOnLoop()
        guard let entry = settling[socket], let easy = entry.transfer.easy else { return }
        let transfer = entry.transfer
        var (byte, count): (UInt8, Int) = (0, 0)
        let result = curl_easy_recv(easy.handle, &byte, 1, &count)
        if result == CURLE_AGAIN {
            // After the first read, this means that a ticket has been read. A server may send each in a packet, so a
            // pause follows. After `entry.end` the clock is left alone, or a server that sends a byte in every turn
            // would postpone the end for ever.
            let now = LoopInstant.now()
            if entry.isBound, now < entry.end {
                transfer.clocks.settlingStarted(for: min(entry.pause, entry.end.nanoseconds(since: now)), at: now)
            }
            settling[socket]?.isBound = true
            return clockChanged(transfer)
        }
        stopWatching(transfer)
        let reason =
            result == CURLE_OK && count > 0
            ? "the server sent bytes that nobody has asked for" : "the server closed the connection at once"
        fail(transfer, transfer.makeError(.connectFailed, reason, phase: .connect))
    }

    /// Called before the transfer leaves its handle. A connection that is up stays in the pool, unless it has failed.
    func returnConnectionToPool(of transfer: ActiveTransfer, _ easy: TransferHandle) {
        stopWatching(transfer)
        // With the option set, libcurl closes the connection of a handle that is removed.
        if transfer.result.error?.code != .connectFailed { curlew_set_long(easy.handle, CURLOPT_CONNECT_ONLY, 0) }
    }

    private func stopWatching(_ transfer: ActiveTransfer) {
        let socket = exchange(&transfer.connection.settlingSocket, with: -1)
        guard socket >= 0, settling[socket]?.transfer === transfer else { return }
        settling[socket] = nil
        sockets.setEvents([], of: socket, owner: .settlingTransfer)
    }
}

/// A transfer whose connection is watched before it is given to others.
struct SettlingTransfer {
    let transfer: ActiveTransfer
    /// When the watch ends, whatever the server sends.
    let end: LoopInstant
    /// The nanoseconds without another ticket after which the connection counts as quiet.
    let pause: UInt64
    /// Whether the handle has read from the connection, which binds it to the handle.
    var isBound = false
}
