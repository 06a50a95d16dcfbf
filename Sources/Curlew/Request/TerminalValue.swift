internal import CurlewCore
internal import CurlewLocks

/// The value that an awaiting method makes from a run's result. Its failure can still be retried.
protocol TerminalValue: AnyObject, Sendable {
    /// Makes the value. Returns the error if that fails.
    func make(of result: RunResult) async -> CurlewError?
    /// Records the error that a retrier has decided on.
    func fail(with error: CurlewError)
}

/// A value that is decoded from a body, or read from a file.
final class SerializedValue<Value: Sendable>: TerminalValue {
    // Decoding a large body would hold up the actor that awaits it.
    typealias Serializer = @concurrent @Sendable (RunResult) async throws(CurlewError) -> Value

    private let serialize: Serializer
    private let made = Lock<Result<Value, CurlewError>?>(nil)

    init(_ serialize: @escaping Serializer) { self.serialize = serialize }

    func make(of result: RunResult) async -> CurlewError? {
        do throws(CurlewError) {
            let value = try await serialize(result)
            // The value of an earlier attempt is released without the lock.
            _ = made.withLock { exchange(&$0, with: .success(value)) }
            return nil
        } catch {
            fail(with: error)
            return error
        }
    }

    func fail(with error: CurlewError) { _ = made.withLock { exchange(&$0, with: .failure(error)) } }

    /// Returns the value. It is made here if another caller has driven the run.
    func value(of result: RunResult) async throws(CurlewError) -> Value {
        if let made = made.withLock({ $0 }) { return try made.get() }
        return try await serialize(result)
    }
}

extension Request {
    /// Returns the value that an awaiting method makes from an acceptable result. If that fails, retriers are asked,
    /// once in each attempt.
    func serialized<Value: Sendable>(
        _ serialize: @escaping SerializedValue<Value>.Serializer
    ) async throws(CurlewError) -> Value {
        let awaiting = awaited()
        guard awaiting.wishes.hasRetriers else {
            return try await serialize(try judged(await outcome(of: awaiting, checksStatus: true)))
        }
        let value = SerializedValue(serialize)
        let result = await outcome(of: awaiting, checksStatus: true, making: value)
        return try await value.value(of: try judged(result))
    }
}
