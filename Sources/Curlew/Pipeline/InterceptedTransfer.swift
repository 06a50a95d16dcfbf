internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// One request that a middleware has sent over the network, or the cache, and its response: the transport's sink.
///
/// The transfer has a task of its own, because the middleware continues when the head has arrived. The body waits in a
/// channel, which pauses the transport. The transfer ends when the body's reader is released.
final class InterceptedTransfer: TransferSink {
    /// The result. The transport makes no call afterwards.
    let outcome = OneShot<Result<TransferOutcome, CurlewError>>()
    private let request: TransferRequest
    private let key: Int
    private let run: MiddlewareRun
    private let head = OneShot<Result<ResponseHead, CurlewError>>()
    private let task: ExchangeTask
    private let channel: BodyChannel
    /// The informational responses. They wait for the reply: those of a reply that is not used are never delivered.
    private let informational = Lock<[ResponseHead]>([])

    init(_ request: TransferRequest, key: Int, of run: MiddlewareRun) {
        self.request = request
        self.key = key
        self.run = run
        let task = ExchangeTask()
        self.task = task
        channel = BodyChannel(onAbandon: { task.cancel() })
    }

    func start(over transport: any Transport) { task.start { [self] in await perform(over: transport) } }

    func cancel() { task.cancel() }

    private func perform(over transport: any Transport) async {
        let result: Result<TransferOutcome, CurlewError>
        do throws(CurlewError) {
            result = .success(try await transport.perform(request, sink: self))
        } catch {
            result = .failure(error)
        }
        // First: a middleware that hears of the end may send the request, with its body, again.
        run.ended(key)
        outcome.resolve(result)
        head.resolve(result.map(\.head))
        // Last: the end of the body is the end of the transfer, of which the outcome is then known.
        channel.finish(throwing: result.failure)
    }

    // MARK: The transport's calls

    func willStart(_ control: any TransferControl) {
        channel.producerStarts(control)
        run.controls.add(control, for: key)
    }

    func didReceive(informational head: ResponseHead) { informational.withLock { $0.append(head) } }

    // Reaches the exchange while the request is sent, and so may come while a reply is delivered that a middleware has
    // made meanwhile. What it changes in the exchange is behind its lock.
    func didSend(bodyBytes: Int64, of expected: Int64?) { run.sink.didSend(bodyBytes: bodyBytes, of: expected) }

    func didReceive(head: ResponseHead) -> Disposition {
        run.received(head, to: request)
        self.head.resolve(.success(head))
        return .proceed
    }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition { channel.receive(body) }

    // MARK: The middleware's reply

    /// Returns the reply when its head has arrived. Its body is read from the channel.
    func reply() async throws(CurlewError) -> Reply {
        // Released, it ends a transfer whose caller was cancelled.
        let reader = StreamReader(claiming: channel)
        let head = try await arrivedHead()
        let body = Reply.Stream {
            var reader = reader
            return { try await reader.next() }
        }
        return Reply(head, .stream(body), from: source)
    }

    /// Returns the reply with its whole body. If it throws, the transfer has ended: a middleware that catches the error
    /// may send the request, with its body, again.
    func collectedReply(upTo limit: Int) async throws -> Reply {
        do {
            // The transport enforces the limit, if it is Curlew's own.
            let body = try await reply().data(upTo: limit)
            let head = try await outcome.waitThroughCancellation().get().head
            return Reply(head, .data(body), from: source)
        } catch {
            cancel()
            _ = await outcome.waitThroughCancellation()
            throw error
        }
    }

    private var source: Reply.Source {
        Reply.Source(informational: informational, outcome: outcome, run: run.token)
    }

    private func arrivedHead() async throws(CurlewError) -> ResponseHead {
        let arrived = await withTaskCancellationHandler {
            await head.waitThroughCancellation()
        } onCancel: {
            task.cancel()
        }
        return try arrived.get()
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
