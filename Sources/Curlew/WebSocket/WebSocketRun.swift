internal import CurlewCore
internal import CurlewLocks

/// The tasks of a WebSocket: one of the places that start unstructured tasks.
enum WebSocketRun {
    /// Starts the run, unless an earlier call has.
    static func start(_ request: WebSocketRequest) {
        guard request.startsNow() else { return }
        // The run does not keep the user's handle alive: releasing that closes the WebSocket.
        let run = request.handleOfRun()
        Task { _ = await run.outcome(checksStatus: false) }
    }

    /// Starts the pump for the handlers. It ends with the WebSocket.
    static func start(_ pump: WebSocketPump) -> Task<Void, Never> { Task { await pump.run() } }

    /// Sends a ping and calls back with the result. The task ends with the pong, its deadline, or the WebSocket.
    static func ping(
        _ request: WebSocketRequest, _ completion: @escaping @Sendable (Result<Duration, CurlewError>) -> Void
    ) {
        Task {
            do throws(CurlewError) { completion(.success(try await request.ping())) } catch {
                completion(.failure(error))
            }
        }
    }

    /// Sends the queued messages one after the other. The task ends when the queue is empty.
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
