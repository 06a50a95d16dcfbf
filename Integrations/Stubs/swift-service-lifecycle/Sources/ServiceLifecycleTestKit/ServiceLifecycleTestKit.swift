// The trigger of a graceful shutdown in tests.

import ServiceLifecycle

public struct GracefulShutdownTestTrigger: Sendable {
    private let trigger: ShutdownTrigger

    fileprivate init(_ trigger: ShutdownTrigger) { self.trigger = trigger }

    public func triggerGracefulShutdown() { trigger.fire() }
}

public func testGracefulShutdown<T>(operation: (GracefulShutdownTestTrigger) async throws -> T) async rethrows -> T {
    let trigger = ShutdownTrigger()
    return try await ShutdownTrigger.$current.withValue(trigger) {
        try await operation(GracefulShutdownTestTrigger(trigger))
    }
}
