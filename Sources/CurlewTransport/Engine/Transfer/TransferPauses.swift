internal import CCurl
internal import CurlewCore

/// The reasons why a transfer is paused, and the pause that libcurl applies.
struct TransferPauses {
    /// Set by `TransferControl.suspend`.
    var isSuspended = false
    /// The sink answered `.pause`.
    var sinkPaused = false
    /// The body's source returned `.pending`.
    var sourcePending = false
    /// The CURLPAUSE_* bits in force.
    var applied: Int32 = 0

    var pausesReceiving: Bool { isSuspended || sinkPaused }
    var pausesSending: Bool { isSuspended || sourcePending }
    /// Whether Curlew itself pauses the transfer. The queue, idle and first-byte timeouts do not run meanwhile.
    var isPaused: Bool { isSuspended || sinkPaused || sourcePending }

    func wanted(isUploading: Bool, waitsForReader: Bool) -> Int32 {
        (pausesReceiving ? CURLPAUSE_RECV : 0) | (isUploading && (pausesSending || waitsForReader) ? CURLPAUSE_SEND : 0)
    }
}

extension Transfers {
    /// Called after a reason to pause has changed. Stops or starts the timeouts, and pauses or resumes libcurl.
    func applyPauses(_ transfer: ActiveTransfer) {
        if transfer.pauses.isPaused {
            transfer.clocks.paused(at: now)
        } else {
            transfer.clocks.resumed(at: now)
        }
        clockChanged(transfer)
        // Before the request is sent libcurl has nothing to pause; the callbacks check the flags later.
        guard transfer.sending.hasBegun, let easy = transfer.easy else { return }
        let wanted = transfer.pauses.wanted(
            isUploading: transfer.sending.upload.map { !$0.hasEnded } ?? false,
            waitsForReader: sockets.sendingWaitsForReader(transfer))
        guard wanted != transfer.pauses.applied else { return }
        let before = transfer.pauses.applied
        transfer.pauses.applied = wanted
        if wanted & CURLPAUSE_RECV != 0 {
            sockets.receivingPaused(transfer)
        } else if transfer.connection.mutedSocket >= 0 {
            sockets.receivingResumes(transfer)
        }
        // Resuming may deliver bytes, and so pause again, before the call returns. If the sink refuses the bytes,
        // libcurl reports that only as the result of this call: on an idle connection nothing else would end the
        // transfer.
        let result = curl_easy_pause(easy.handle, wanted)
        if result == CURLE_BAD_FUNCTION_ARGUMENT {
            // The transfer has no connection: it has ended and its message is queued, or libcurl is about to send it
            // again.
            transfer.pauses.applied = before
        } else if result != CURLE_OK {
            finish(transfer, easy, result)
        }
    }
}

// For a libcurl that reads on while its transfer is paused. libcurl is not told that the socket is readable, so the
// bytes stay in the kernel, whose full buffers stop the server. This applies to HTTP/1 alone: an HTTP/2 connection
// serves other transfers as well, and there libcurl closes the stream's window.
extension Sockets {
    /// Called when libcurl watches a connection for a transfer. On a reused connection the transfer may have read, and
    /// paused, before.
    func recordSocket(_ fd: Int32, of easy: TransferHandle) {
        easy.socket = fd
        if let transfer = easy.transfer, transfer.pauses.applied & CURLPAUSE_RECV != 0 { receivingPaused(transfer) }
    }

    func receivingPaused(_ transfer: ActiveTransfer) {
        loop.assertOnLoop()
        guard settings.quirks.readsWhilePaused, transfer.connection.mutedSocket < 0, let easy = transfer.easy else {
            return
        }
        guard isOverHTTP1(transfer) else { return }
        transfer.connection.mutedSocket = easy.socket
        poller.mute(transfer.connection.mutedSocket, true)
    }

    /// Called for a transfer with a muted socket.
    func receivingResumes(_ transfer: ActiveTransfer) {
        loop.assertOnLoop()
        poller.mute(transfer.connection.mutedSocket, false)
        transfer.connection.mutedSocket = -1
    }

    /// Whether the body must wait until its response is read again: a libcurl that reads whenever it sends would read
    /// on.
    func sendingWaitsForReader(_ transfer: ActiveTransfer) -> Bool {
        settings.quirks.readsWhileSending && transfer.pauses.pausesReceiving && isOverHTTP1(transfer)
    }

    private func isOverHTTP1(_ transfer: ActiveTransfer) -> Bool {
        transfer.response.head?.version == .http1_1 || transfer.response.head?.version == .http1_0
    }
}
