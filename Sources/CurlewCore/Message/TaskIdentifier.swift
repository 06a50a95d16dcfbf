/// Identifies one exchange of a request: each retry and each followed redirect has a new identifier.
///
/// `await session[identifier]` returns the request whose current exchange it identifies.
public struct TaskIdentifier: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }

    public var description: String { String(rawValue) }
}
