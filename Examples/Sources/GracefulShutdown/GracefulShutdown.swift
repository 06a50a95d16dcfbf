// A service that, when it is asked to end, finishes its running requests and refuses new ones.

import Curlew
import CurlewTesting
import Foundation

/// Handles orders, each with a request to a backend.
struct OrderService: Sendable {
    private let backend: Session

    init(backend url: URL) {
        backend = Session(
            configuration: SessionConfiguration {
                $0.baseURL = url
                // A shutdown takes no longer than this. Keep it below the time between SIGTERM and SIGKILL, which is 10
                // seconds in Docker and 30 in Kubernetes.
                $0.timeouts.total = .seconds(8)
            }
        )
    }

    func handle(_ order: Int) async throws(CurlewError) -> String {
        try await backend.request("orders/\(order)", method: .post).string()
    }

    /// Refuses new requests, with `.sessionClosed`, and returns when the running ones have ended.
    func shutDown() async {
        await backend.drain()
        await backend.invalidate()
    }
}

/// Waits for the signals that ask the process to end. Create it before the service starts.
final class Termination {
    private let signals: AsyncStream<Int32>
    private let sources: [any DispatchSourceSignal]

    init(_ numbers: [Int32] = [SIGTERM, SIGINT]) {
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        self.signals = signals
        sources = numbers.map { number in
            // Disables the default effect, which ends the process at once.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(number) }
            source.activate()
            return source
        }
    }

    deinit { for source in sources { source.cancel() } }

    /// Returns at the first signal, or when the task is cancelled.
    func wait() async {
        for await _ in signals { break }
    }
}

// MARK: - Demonstration

@main
enum Demonstration {
    static func main() async throws {
        let termination = Termination()
        let gate = Gate()
        let server = try standIn(holdingResponsesUntil: gate)
        let service = OrderService(backend: server.url("/"))

        let orders = Task {
            try await withThrowingTaskGroup(of: String.self) { group in
                for order in 1...5 { group.addTask { try await service.handle(order) } }
                var count = 0
                for try await _ in group { count += 1 }
                return count
            }
        }
        try await server.waitForRequests(count: 5)
        print("5 orders are being handled")

        kill(getpid(), SIGTERM)
        await termination.wait()
        print("SIGTERM: draining")
        async let shutdown: Void = service.shutDown()
        gate.open()
        await shutdown
        print("\(try await orders.value) of 5 orders completed")
        do throws(CurlewError) {
            _ = try await service.handle(6)
        } catch {
            print("a sixth order is refused: \(error.code)")
        }
    }

    static func standIn(holdingResponsesUntil gate: Gate) throws -> TestServer {
        let server = try TestServer()
        server.route("/orders/{id}", methods: [.post]) { _ in
            .text("done").stalling(until: gate, at: .beforeHead)
        }
        return server
    }
}
