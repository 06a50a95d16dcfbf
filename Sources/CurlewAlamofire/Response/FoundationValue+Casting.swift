internal import Curlew

extension FoundationValue {
    /// Returns the value as the type that the caller expects. Throws if it has another type.
    static func cast<Value: Sendable>(_ value: any Any & Sendable) throws -> Value {
        guard let value = value as? Value else {
            throw OtherType(expected: "\(Value.self)", found: "\(type(of: value))")
        }
        return value
    }

    /// Returns the error that reports a failed cast.
    static func error(_ error: any Error) -> CurlewError {
        ErrorWrapping.serialization(error)
    }

    /// The body is JSON, but of another type.
    private struct OtherType: Error {
        let expected: String
        let found: String
    }
}
