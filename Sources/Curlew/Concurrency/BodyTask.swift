/// Runs the pump of a body that comes from an asynchronous sequence: it belongs to an exchange, not to a task.
enum BodyTask {
    static func start(_ pump: @escaping @Sendable () async -> Void) -> Task<Void, Never> { Task { await pump() } }
}
