import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

/// A program that names a notification receives it for every request.
@Suite(.timeLimit(.minutes(4)))
struct NotificationTests {
    /// Records the names of the notifications about requests, in order.
    // SAFETY: only the initializer and `deinit` touch `tokens`.
    private final class Listener: @unchecked Sendable {
        private let seen = Lock<[(name: Notification.Name, request: Request?)]>([])
        private var tokens: [any NSObjectProtocol] = []

        init(_ names: [Notification.Name]) {
            tokens = names.map { name in
                NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { [seen] note in
                    seen.withLock { $0.append((note.name, note.request)) }
                }
            }
        }

        deinit { for token in tokens { NotificationCenter.default.removeObserver(token) } }

        func about(_ request: Request) -> [Notification.Name] {
            seen.withLock { $0 }.filter { $0.request == request }.map(\.name)
        }
    }

    private static let names = [
        Request.didResumeNotification, Request.didResumeTaskNotification, Request.didCompleteTaskNotification,
        Request.didCompleteNotification, Request.didFinishNotification,
    ]

    @Test func notificationsArePostedWithoutAMonitor() async throws {
        let session = Session(transport: MockTransport { _ in .text("x") }, startRequestsImmediately: false)
        let request = session.request("https://example.org/").response { _ in }
        let listener = Listener(Self.names)
        request.resume()
        try await eventually { listener.about(request).count == 5 }
        #expect(Set(listener.about(request)) == Set(Self.names))
        #expect(listener.about(request).first == Request.didResumeNotification)
    }

    /// Notifications are posted even if the session or the request has a monitor of another kind.
    @Test func notificationsArePostedBesideOtherMonitors() async throws {
        let listener = Listener(Self.names)
        let monitor = ClosureEventMonitor()
        let session = Session(transport: MockTransport { _ in .text("x") }, eventMonitors: [monitor])
        let request = session.request("https://example.org/").eventMonitor(monitor).response { _ in }
        try await eventually { listener.about(request).count == 5 }
    }

    /// A session or a request with its own `RequestNotifications` posts each notification once.
    @Test(arguments: [0, 1, 2]) func notificationsArePostedOnce(place: Int) async throws {
        let listener = Listener(Self.names)
        let own = RequestNotifications(queue: DispatchQueue(label: "own"))
        let monitors: [any EventMonitor] = [[own], [CompositeEventMonitor(monitors: [own])], []][place]
        let session = Session(transport: MockTransport { _ in .text("x") }, eventMonitors: monitors)
        let request = session.request("https://example.org/")
        if place == 2 { request.eventMonitor(own) }
        request.response { _ in }
        // A later request of a session without monitors. Its events follow those of the first request on the main
        // queue.
        let last = Session(transport: MockTransport { _ in .text("x") }).request("https://example.org/")
        try await eventually { listener.about(request).count >= 5 }
        last.response { _ in }
        try await eventually { listener.about(last).count == 5 }
        #expect(listener.about(request).count == 5)
    }
}
