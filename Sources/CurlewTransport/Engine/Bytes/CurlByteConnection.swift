internal import CurlewCore

/// A connection as its user sees it. Every call except `sendNow` becomes work for the loop.
final class CurlByteConnection: ByteConnection {
    let metrics: TransferMetrics
    private let number: Int
    private let queue: SendQueue
    private let loop: EngineLoop
    private let loopExecutor: LoopExecutor

    init(number: Int, queue: SendQueue, loop: EngineLoop, metrics: TransferMetrics) {
        (self.number, self.queue, self.loop, self.metrics) = (number, queue, loop, metrics)
        loopExecutor = LoopExecutor(loop)
    }

    deinit { close() }

    var executor: (any TaskExecutor)? { loopExecutor }

    func receive(maximum: Int) async throws(CurlewError) -> [UInt8]? {
        try await wait { .receive($0, maximum: max(1, maximum), $1) }
    }

    func send(_ bytes: [UInt8]) async throws(CurlewError) {
        if bytes.isEmpty { return }
        let isFull = try queue.add(bytes.count)
        give(.send(bytes))
        if isFull { try await wait { .awaitRoom($0, $1) } }
    }

    func sendNow(_ bytes: UnsafeRawBufferPointer) -> Int { queue.sendNow(bytes) }

    func finishSending() async throws(CurlewError) { try await wait { .finish($0, $1) } }

    func close() {
        queue.fail(.connectionClosed())
        give(.close)
    }

    private func give(_ command: ConnectionCommand) { loop.send(.connection(number, command)) }

    /// Sends the loop a command and waits for its answer. A cancellation refers to the wait by its number.
    private func wait<Value: Sendable>(
        for command: @Sendable (Int, ConnectionCommand.Answer<Value>) -> ConnectionCommand
    ) async throws(CurlewError) -> Value {
        let wait = queue.nextWait()
        let result = await withTaskCancellationHandler {
            await withUnsafeContinuation { answer in
                guard loop.send(.connection(number, command(wait, answer))) else {
                    return answer.resume(returning: .failure(.transportShutDown))
                }
                // A cancellation before the command was queued found no wait to end, so it is repeated.
                if Task.isCancelled { give(.abandon(wait)) }
            }
        } onCancel: {
            give(.abandon(wait))
        }
        return try result.get()
    }
}
