public import CurlewCore

/// What the requests of a session have in common. Every limit is finite unless you lift it.
public struct SessionConfiguration: Sendable {
    /// A name for logs and thread names.
    public var identifier: String?
    /// Fields that every request carries unless it has its own of that name.
    public var headers: HTTPHeaders = [:]
    /// The five clocks; a request may change its own.
    public var timeouts = Timeouts()

    /// The defaults.
    public init() {}
}
