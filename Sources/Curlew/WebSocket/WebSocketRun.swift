internal import CurlewCore
internal import CurlewLocks

/// The tasks of a WebSocket: one of the places where unstructured tasks start.
enum WebSocketRun {
    /// The first verb starts the run.
    static func start(_ request: WebSocketRequest) {
        guard request.startsNow() else { return }
        // Releasing the user's handle closes the WebSocket.
        let run = request.handleOfRun()
        Task { _ = await run.outcome(checksStatus: false) }
    }

    /// The first handler starts the pump, which ends with the WebSocket.
    static func start(_ pump: WebSocketPump) -> Task<Void, Never> { Task { await pump.run() } }

    /// A ping whose answer is told to a closure. It ends with the pong, its deadline, or the WebSocket.
    static func ping(
        _ request: WebSocketRequest, _ completion: @escaping @Sendable (Result<Duration, CurlewError>) -> Void
    ) {
        Task {
            do throws(CurlewError) { completion(.success(try await request.ping())) } catch {
                completion(.failure(error))
            }
        }
    }

    /// Sends what the queue has, one after the other; ends when it is empty.
    static func send(_ request: WebSocketRequest) {
        Task {
            while let (message, completion) = request.nextQueued() {
                do throws(CurlewError) {
                    try await request.send(message)
                    completion(.success(()))
                } catch {
                    completion(.failure(error))
                }
            }
        }
    }
}
