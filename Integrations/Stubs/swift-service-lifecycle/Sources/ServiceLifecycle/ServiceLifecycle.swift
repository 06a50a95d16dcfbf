// A stand-in for swift-server/swift-service-lifecycle: the part of its API that CurlewServiceLifecycle and its tests use.

public import Logging

public protocol Service: Sendable {
    func run() async throws
}

public func gracefulShutdown() async throws {
    guard let trigger = ShutdownTrigger.current else { return try await Task.sleep(for: .seconds(1_000_000)) }
    for await _ in trigger.signals { return }
    throw CancellationError()
}

public struct UnixSignal: Hashable, Sendable {
    public static let sigterm = UnixSignal()
}

public actor ServiceGroup: Service {
    private let services: [any Service]

    public init(
        services: [any Service], gracefulShutdownSignals: [UnixSignal] = [], cancellationSignals: [UnixSignal] = [],
        logger: Logger
    ) { self.services = services }

    public func run() async throws {
        for service in services { try await service.run() }
    }
}

/// The shutdown that tests trigger instead of a signal. The real package has no type of this name.
public final class ShutdownTrigger: Sendable {
    @TaskLocal public static var current: ShutdownTrigger?
    fileprivate let signals: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    public init() { (signals, continuation) = AsyncStream.makeStream() }

    public func fire() { continuation.yield() }
}
