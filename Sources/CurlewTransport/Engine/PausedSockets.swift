internal import CurlewCore

/// What libcurl is not told of stays in the kernel, whose buffers stop the server: for a libcurl that would read on while
/// its transfer is paused.
///
/// Over HTTP/1 alone: an HTTP/2 connection serves others too, and there libcurl closes the stream's window.
extension TransferBook {
    /// libcurl watches a connection for a transfer. On one that is used again it may have read, and paused, before.
    func reads(_ easy: CurlEasy, from fd: Int32) {
        easy.socket = fd
        // The lowest bit is CURLPAUSE_RECV.
        if let transfer = easy.transfer, transfer.pauses.applied & 1 != 0 { receivingPaused(transfer) }
    }

    func receivingPaused(_ transfer: ActiveTransfer) {
        guard settings.libcurlReadsWhilePaused, transfer.mutedSocket < 0, let easy = transfer.easy else { return }
        guard isOverHTTP1(transfer) else { return }
        transfer.mutedSocket = easy.socket
        mute(transfer.mutedSocket, true)
    }

    func receivingResumes(_ transfer: ActiveTransfer) {
        guard transfer.mutedSocket >= 0 else { return }
        mute(transfer.mutedSocket, false)
        transfer.mutedSocket = -1
    }

    /// Whether the body must wait until its answer is read again: a libcurl that reads whenever it sends would read on.
    func sendingWaitsForReader(_ transfer: ActiveTransfer) -> Bool {
        settings.libcurlReadsWhileSending && transfer.pauses.holdsReceiving && isOverHTTP1(transfer)
    }

    private func isOverHTTP1(_ transfer: ActiveTransfer) -> Bool {
        transfer.head?.version == .http1_1 || transfer.head?.version == .http1_0
    }
}
