/// Names one attempt to carry out a request: every try, retry and redirect hop's attempt has its own.
///
/// The session's registry is keyed by it (`await session[identifier]`).
public struct TaskIdentifier: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }

    public var description: String { String(rawValue) }
}
