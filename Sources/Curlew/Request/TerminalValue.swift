internal import CurlewCore
internal import CurlewLocks

/// What a terminal makes of a run's result, while the run can still be tried again because of it.
protocol TerminalValue: AnyObject, Sendable {
    /// Makes it; the error, where that fails.
    func make(of result: RunResult) async -> CurlewError?
    /// A retrier had the last word.
    func fail(with error: CurlewError)
}

/// A value that is decoded, or read from a file.
final class SerializedValue<Value: Sendable>: TerminalValue {
    typealias Serializer = @Sendable (RunResult) async throws(CurlewError) -> Value

    private let serialize: Serializer
    private let made = Lock<Result<Value, CurlewError>?>(nil)

    init(_ serialize: @escaping Serializer) { self.serialize = serialize }

    func make(of result: RunResult) async -> CurlewError? {
        do throws(CurlewError) {
            let value = try await serialize(result)
            // What an earlier try has made goes without the lock.
            _ = made.withLock { exchange(&$0, with: .success(value)) }
            return nil
        } catch {
            fail(with: error)
            return error
        }
    }

    func fail(with error: CurlewError) { _ = made.withLock { exchange(&$0, with: .failure(error)) } }

    /// The value, made now if another awaiter has driven the run.
    func value(of result: RunResult) async throws(CurlewError) -> Value {
        if let made = made.withLock({ $0 }) { return try made.get() }
        return try await serialize(result)
    }
}

extension Request {
    /// The value that a terminal makes of an acceptable result. Retriers are asked about its failure too, once each try.
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
