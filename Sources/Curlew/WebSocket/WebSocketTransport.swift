internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Performs the exchange of a WebSocket: the handshake and, after a 101, the WebSocket until its end.
///
/// Any other response is passed on like that of any request, so that redirects are followed as usual.
struct WebSocketTransport: Transport {
    let base: any Transport
    let link: WebSocketLink
    let maximumHeaderSize: Int
    /// Called with the head of a 101, before the WebSocket is open.
    let willOpen: @Sendable (ResponseHead) -> Void
    /// Prepares the connection before other callers may use it.
    let hook: WebSocketLink.Hook?

    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        guard let connector = base as? any ConnectTransport else {
            throw .unsupported(feature: "WebSocket over this transport", needs: "one that can connect")
        }
        let control = WebSocketControl(link)
        sink.willStart(control)
        let upgrade = WebSocketUpgrade(
            connector: connector, request: request, compresses: link.options.compression,
            maximumHeaderSize: maximumHeaderSize, sink: sink, control: control)
        switch try await upgrade.result() {
        case .declined(let outcome): return outcome
        case .upgraded(let upgraded):
            willOpen(upgraded.head)
            let summary = await withTaskCancellationHandler {
                await link.run(upgraded, at: link.asGiven(request.url), hook: hook)
            } onCancel: {
                link.stop(with: .cancelled)
            }
            var metrics = upgraded.metrics
            metrics.bytesSent += summary.bytesSent
            metrics.bytesReceived += summary.bytesReceived
            metrics.ended = Date()
            if var error = summary.ending.error {
                if error.metrics == nil { error.metrics = metrics }
                throw error
            }
            return TransferOutcome(head: upgraded.head, metrics: metrics)
        }
    }
}

/// Controls the exchange of a WebSocket.
final class WebSocketControl: TransferControl {
    /// Resolved with the error that ends the exchange.
    let stopped = OneShot<CurlewError>()
    private let link: WebSocketLink
    private let resumption = Lock<OneShot<Void>?>(nil)

    init(_ link: WebSocketLink) { self.link = link }

    func cancel(with error: CurlewError) {
        stopped.resolve(error)
        link.stop(with: error)
    }

    func resumeReceiving() { resumption.withLock { exchange(&$0, with: nil) }?.resolve(()) }

    // An open WebSocket is not suspended: its messages wait in the inbox until they are read.
    func suspend() {}

    func resume() {}

    /// Returns the end of the sink's next pause. Call it before the sink: `resumeReceiving` may come before the sink
    /// returns.
    func nextResumption() -> OneShot<Void> {
        let next = OneShot<Void>()
        _ = resumption.withLock { exchange(&$0, with: next) }
        return next
    }
}
