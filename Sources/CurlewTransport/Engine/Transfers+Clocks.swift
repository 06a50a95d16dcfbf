internal import CCurl
internal import CurlewCore

// The timeouts of the engine's transfers. Each transfer's `TransferClocks` knows which of its timeouts runs. The heap has
// one deadline for each transfer with a running timeout, and that deadline is never too late.
extension Transfers {
    /// Called after a timeout of the transfer has started or stopped. A later deadline is not stored; `runDeadlines`
    /// recomputes it when the stored one is due.
    func clockChanged(_ transfer: ActiveTransfer) {
        loop.assertOnLoop()
        let next = transfer.clocks.next.at
        if transfer.deadlineIndex < 0 ? next != .never : next < deadlines.deadline(of: transfer) {
            deadlines.set(transfer, to: next)
        }
    }

    /// The time before which no timeout of any transfer expires.
    var deadline: LoopInstant { deadlines.earliest }

    /// Ends the transfers whose timeouts have expired at `instant`, and moves the stored deadlines that were too early.
    func runDeadlines(until instant: LoopInstant) {
        loop.assertOnLoop()
        while let transfer = deadlines.due(at: instant) {
            let next = transfer.clocks.next
            if next.at <= instant { expire(next.timeout, of: transfer) } else { deadlines.set(transfer, to: next.at) }
        }
    }

    /// Ends a transfer whose timeout has expired. In three cases that is no failure.
    private func expire(_ timeout: TransferClocks.Timeout, of transfer: ActiveTransfer) {
        // A connection for later requests is up. Its time to settle is over, or a timeout has cut it short.
        if transfer.plan.prewarms, case .receive = transfer.clocks.stretch { return release(transfer) }
        if timeout == .idle, let easy = transfer.easy {
            // The whole response has arrived, and the server reads no more of the request's body.
            if transfer.response.isComplete {
                transfer.measure(easy)
                return release(transfer)
            }
            // The response that is discarded has not ended in time.
            if !transfer.hasFailed, transfer.restartOfResponse != nil,
                let restart = transfer.reasonToRestart(after: CURLE_OPERATION_TIMEDOUT),
                transfer.prepare(for: restart, settings)
            {
                return enqueueAgain(transfer, easy, recycles: false)
            }
        }
        fail(transfer, transfer.failure ?? transfer.timeout(timeout))
        endUnreachableConnection(of: transfer)
    }

    /// Shuts down the HTTP/2 connection of a transfer that a timeout has ended, if its peer is out of reach and no other
    /// transfer uses it.
    ///
    /// libcurl keeps a multiplexed connection that a transfer leaves early (curl issue 17225), and would send the later
    /// requests to the origin over it. TCP does not notice soon that the peer has vanished: while bytes are
    /// unacknowledged, it sends no keep-alive probes. A server that is only slow acknowledges what it gets.
    private func endUnreachableConnection(of transfer: ActiveTransfer) {
        guard let (socket, connection) = sockets.connections.find(transfer.connection.name),
            connection.version == .http2, OpenConnections.repeatsBytes(on: socket),
            !isUsed(connection.name, besides: transfer)
        else { return }
        sockets.endConnection(at: socket)
    }
}
