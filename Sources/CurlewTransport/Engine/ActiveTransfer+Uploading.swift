internal import CCurl
internal import CurlewCore
internal import CurlewLocks

// Reads the request's body for libcurl.
extension ActiveTransfer {
    /// Opens a streamed body. Only the first call has an effect, however often the transfer is given to libcurl.
    func openBody() {
        guard let upload = sending.upload, upload.isStream, sending.waker == nil else { return }
        let waker = TransferWaker(self)
        sending.waker = waker
        upload.open(waker: waker)
    }

    /// Fills libcurl's buffer with the next bytes of the body.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, _ transfers: Transfers) -> UploadSource.Chunk {
        guard !hasFailed, let upload = sending.upload, buffer.count > 0 else {
            return .failed(makeError(.bodyUnavailable, "no body"))
        }
        // A libcurl that fails short bodies gets nothing more until the response ends the exchange. Others accept an
        // early end.
        if sending.isBodyRefused { return transfers.settings.quirks.failsShortBodies ? .pending : .end }
        if pauses.sourcePending { bodyIsReadAgain(transfers) }
        if pauses.isSuspended || transfers.sockets.sendingWaitsForReader(self) { return holdSending(transfers) }
        let chunk = upload.read(into: buffer)
        switch chunk {
        case .bytes(let count):
            clocks.byteMoved(at: transfers.now)
            sink.didSend(bodyBytes: upload.position, of: upload.length)
            if upload.hasEnded, count > 0 { bodyEnded(transfers) }
        case .end: bodyEnded(transfers)
        case .pending:
            pauses.sourcePending = true
            return holdSending(transfers)
        case .failed(let error):
            failure = completed(error)
        }
        return chunk
    }

    /// Returns the trailer lines behind a body that has ended. `nil` if the transfer has to end.
    func trailerLines() -> [String]? {
        guard !hasFailed else { return nil }
        // The response has refused the rest of the body, so this is not its end.
        guard !sending.isBodyRefused, let trailers = request.trailers else { return [] }
        do throws(CurlewError) {
            return try trailers.fields().map { "\($0.name): \($0.value)" }
        } catch {
            failure = completed(error)
            return nil
        }
    }

    /// Called when libcurl has rewound a pending body by itself, for another connection or a challenge. No wake-up will
    /// come for the read that was pending.
    private func bodyIsReadAgain(_ transfers: Transfers) {
        pauses.sourcePending = false
        guard !pauses.isHeld else { return }
        clocks.released(at: transfers.now)
        transfers.clockChanged(self)
    }

    private func holdSending(_ transfers: Transfers) -> UploadSource.Chunk {
        pauses.applied |= CURLPAUSE_SEND
        clocks.held(at: transfers.now)
        return .pending
    }

    private func bodyEnded(_ transfers: Transfers) {
        guard case .send = clocks.stretch else { return }
        clocks.requestSent(at: transfers.now)
        transfers.clockChanged(self)
    }
}

/// Wakes a transfer for the source of its body. A source may keep the waker forever. Closing the body therefore
/// releases the transfer, which owns the source.
final class TransferWaker: BodyWaker {
    private let transfer: Lock<ActiveTransfer?>

    init(_ transfer: ActiveTransfer) { self.transfer = Lock(transfer) }

    func wake() { transfer.withLock { $0 }?.send(.wakeBody) }

    func release() {
        // Released outside of the lock: it may be the last reference to the source, whose `deinit` is user code.
        _ = transfer.withLock { transfer in exchange(&transfer, with: nil) }
    }
}
