/// The control of a transport that works in turns. One turn handles everything that its connections have received.
///
/// A sink need not wake its reader for every piece of a body, because all pieces of one turn are available at its end.
/// The sink registers for the end of the turn through its control, so that decorators in between need not forward it.
package protocol TurnControl: TransferControl {
    /// Notifies `observer` once, at the end of the current turn. Call it only within `didReceive(body:)`.
    func atEndOfTurn(tell observer: any TurnObserver)
}

/// Notified at the end of a turn, on the transport's thread. It must not block.
package protocol TurnObserver: AnyObject, Sendable {
    func turnEnded()
}
