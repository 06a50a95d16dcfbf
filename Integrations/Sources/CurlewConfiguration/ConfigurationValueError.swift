/// A value in a configuration that a session cannot use.
///
/// The value itself is not part of the error, because it may be a secret.
public struct ConfigurationValueError: Error, Hashable, CustomStringConvertible {
    /// The key, relative to the reader's scope.
    public let key: String
    /// The requirement that the value does not meet.
    public let expected: String

    /// A description for a log.
    public var description: String { "The configuration value of '\(key)' has to be \(expected)." }
}
