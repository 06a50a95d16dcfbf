public import Curlew
public import ServiceLifecycle

/// Closes a session when its service group shuts down.
///
///     let session = Session()
///     let group = ServiceGroup(services: [SessionService(session), server], …)
///     try await group.run()
///
/// After a graceful shutdown begins, new requests fail with `.sessionClosed`, and running ones may end within the limit.
/// Those that are left are then cancelled. If the service's task is cancelled, they are cancelled at once.
///
/// A group shuts its services down in reverse order, each after the services that follow it have ended. Put the session
/// before the services that use it, so that their last requests find it open.
public struct SessionService: Service {
    private let session: Session
    private let drainLimit: Duration

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - session: The session to close.
    ///   - drainLimit: How long running requests may continue.
    public init(_ session: Session, drainLimit: Duration = .seconds(30)) {
        self.session = session
        self.drainLimit = drainLimit
    }

    /// Waits for the shutdown, and closes the session. Throws `CancellationError` if the task is cancelled.
    public func run() async throws {
        do {
            try await gracefulShutdown()
        } catch {
            await session.invalidate()
            throw error
        }
        await withTaskGroup(of: Void.self) { [session, drainLimit] group in
            group.addTask { await session.drain() }
            group.addTask {
                // Returns early if the requests have ended, or if the service's task is cancelled.
                try? await Task.sleep(for: drainLimit)
            }
            await group.next()
            // Cancels the requests that are left, which ends `drain()`.
            await session.invalidate()
            group.cancelAll()
        }
        try Task.checkCancellation()
    }
}
