/// A request whose response body is consumed while it arrives.
public final class DataStreamRequest: Request, @unchecked Sendable {
    // SAFETY: every stored property is a `let` of a Sendable type; what changes sits behind locks.
}
