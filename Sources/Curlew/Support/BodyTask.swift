/// The unstructured task that reads a body from an asynchronous sequence. It belongs to an exchange, not to a task.
enum BodyTask {
    static func start(_ pump: @escaping @Sendable () async -> Void) -> Task<Void, Never> { Task { await pump() } }
}
