package import CurlewCore
internal import CurlewLocks
internal import Foundation
package import FoundationNetworking

/// The events for handlers of a WebSocket, in this order.
package enum WebSocketOccurrence: Sendable {
    case connected(protocol: String?)
    case received(WebSocketMessage)
    /// Both sides have sent close frames, or this side's was not answered.
    case disconnected(WebSocketCloseCode, reason: String?)
    case completed(WebSocketCompletion)
}

/// The outcome of a WebSocket, for its handlers.
package struct WebSocketCompletion: Sendable {
    package let request: URLRequest?
    package let response: HTTPURLResponse?
    package let metrics: TransferMetrics?
    /// `nil` if a close frame, with whatever code, or this side has ended the WebSocket.
    package let error: CurlewError?
}

/// A handler of WebSocket events with its types erased.
struct WebSocketObserver: Sendable {
    /// Makes the work for the handler's queue; `nil` if the event does not concern the handler.
    let prepare: @Sendable (WebSocketOccurrence) -> (@Sendable () -> Void)?
    let delivery: Delivery
    /// Counts the events that the handler has put into a sequence and that are unread; `nil` if it is done with an
    /// event when it returns.
    var backlog: StreamBacklog?
}

/// Delivers messages to handlers, each on its own queue. The next message follows once all handlers have taken this
/// one: a slow handler pauses the server.
struct WebSocketPump: Sendable {
    let link: WebSocketLink
    /// The handlers that have been added so far.
    let observers: @Sendable () -> [WebSocketObserver]

    func run() async {
        guard case .success(let opening)? = await link.opening.wait() else { return }
        await tell(.connected(protocol: opening.agreement.selectedProtocol), size: 0)
        while let message = try? await link.inbox.next() {
            let size =
                switch message {
                case .text(let text): text.utf8.count
                case .data(let data): data.count
                }
            await tell(.received(message), size: size)
        }
        await link.ended.wait()
        switch link.ending {
        case .closed(let code, let reason, _)?:
            await tell(.disconnected(code, reason: reason.isEmpty ? nil : reason), size: 0)
        case .unanswered?: await tell(.disconnected(.abnormalClosure, reason: nil), size: 0)
        case .cut?, .broken?, .violated?, .silent?, nil: break
        }
    }

    private func tell(_ occurrence: WebSocketOccurrence, size: Int) async {
        let works = observers().compactMap { observer in observer.prepare(occurrence).map { (observer, $0) } }
        guard !works.isEmpty else { return }
        await withCheckedContinuation { continuation in
            let countdown = StreamPump.Countdown(works.count) { continuation.resume() }
            for (observer, work) in works {
                observer.backlog?.add(size)
                observer.delivery {
                    work()
                    guard let backlog = observer.backlog else { return countdown.step() }
                    backlog.whenThereIsRoom { countdown.step() }
                }
            }
        }
    }
}
