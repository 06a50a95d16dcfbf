internal import Curlew
internal import CurlewFailures

extension FoundationValue {
    /// The value as the type that its user takes.
    static func cast<Value: Sendable>(_ value: any Any & Sendable) throws -> Value {
        guard let value = value as? Value else {
            throw OtherType(expected: "\(Value.self)", found: "\(type(of: value))")
        }
        return value
    }

    /// What a failed cast is told as.
    static func error(_ error: any Error) -> CurlewError {
        error as? CurlewError ?? .responseSerializationFailed(reason: .customSerializationFailed(error: error))
    }

    /// The body is JSON, of another type.
    private struct OtherType: Error {
        let expected: String
        let found: String
    }
}
