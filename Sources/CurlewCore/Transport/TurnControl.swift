/// The control of a transport that works in turns: one turn takes all that its connections have at the moment.
///
/// A sink that wakes a reader need not do so for every piece of a body: what comes in one turn is there at its end. A sink
/// asks for the end through the control that it was given, so that decorators between them need not know of it.
package protocol TurnControl: TransferControl {
    /// Tells `observer` once, at the end of the present turn. Called from within `didReceive(body:)` alone.
    func atEndOfTurn(tell observer: any TurnObserver)
}

/// What is told of the end of a turn, on the transport's thread. It must not block.
package protocol TurnObserver: AnyObject, Sendable {
    func turnEnded()
}
