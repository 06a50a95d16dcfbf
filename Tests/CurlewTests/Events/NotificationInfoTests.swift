import Curlew
import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@Suite("Contents of notifications", .timeLimit(.minutes(4)))
struct NotificationInfoTests {
    /// Collects the notifications about a test's own requests.
    private final class Listener: Sendable {
        private let tokens = Lock<[Token]>([])
        private let seen = Recorded<Seen>()

        struct Seen: Sendable {
            let name: Notification.Name
            let request: Request?
            let data: Data?
            let value: String?
            let serializer: String?
            let file: URL?
            let code: CurlewError.Code?
            let hasMetrics: Bool
            let session: String?
        }

        init(_ names: [Notification.Name]) {
            for name in names {
                let token = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { [seen] in
                    seen.note(
                        Seen(
                            name: $0.name, request: $0.request, data: $0.responseData,
                            value: $0.serializedResponse as? String,
                            serializer: $0.responseSerializer.map { "\(type(of: $0))" },
                            file: $0.fileURL, code: $0.curlewError?.code, hasMetrics: $0.metrics != nil,
                            session: $0.session?.identifier
                        ))
                }
                let kept = Token(token)
                tokens.withLock { $0.append(kept) }
            }
        }

        deinit { for token in tokens.withLock({ $0 }) { NotificationCenter.default.removeObserver(token.base) } }

        func about(_ request: Request) -> [Seen] { seen.all.filter { $0.request == request } }
        func about(session: String) -> [Seen] { seen.all.filter { $0.session == session } }

        // SAFETY: an observer's token is only stored and passed back to the notification centre.
        private final class Token: @unchecked Sendable {
            let base: any NSObjectProtocol

            init(_ base: any NSObjectProtocol) { self.base = base }
        }
    }

    private func session(_ monitor: RequestNotifications, _ identifier: String? = nil) -> Session {
        Session(
            configuration: SessionConfiguration { $0.identifier = identifier },
            transport: MockTransport { $0.path == "/fails" ? .status(500) : .text("body") },
            eventMonitors: [monitor]
        )
    }

    @Test("a completion notification has the data, serializer, value and metrics of its handler")
    func handlers() async throws {
        let monitor = RequestNotifications(queue: DispatchQueue(label: "n"))
        let listener = Listener([Request.didCompleteNotification])
        let session = session(monitor)
        let request = session.request("https://example.com/")
        request.response(queue: .global()) { _ in }
        _ = await request.serializingString().response
        await monitor.queue.settled()
        let seen = listener.about(request)
        #expect(seen.count == 2)
        #expect(seen.map(\.value) == [nil, "body"] && seen.map(\.serializer) == [nil, "StringResponseSerializer"])
        #expect(seen.allSatisfy { $0.data == Data("body".utf8) && $0.hasMetrics && $0.code == nil })
    }

    @Test("an awaited request posts one completion notification, with its error")
    func structured() async throws {
        let monitor = RequestNotifications(queue: DispatchQueue(label: "n"))
        let listener = Listener([Request.didCompleteNotification, Request.didFinishNotification])
        let session = session(monitor)
        let request = session.request("https://example.com/fails")
        _ = try? await request.data()
        await monitor.queue.settled()
        let seen = listener.about(request)
        #expect(seen.map(\.name) == [Request.didFinishNotification, Request.didCompleteNotification])
        #expect(seen.map(\.code) == [.unacceptableStatus, .unacceptableStatus])
        #expect(seen.allSatisfy { $0.hasMetrics })
    }

    @Test("downloads post the place of their file, or that moving the file failed")
    func downloads() async throws {
        let monitor = RequestNotifications(queue: DispatchQueue(label: "n"))
        let listener = Listener([
            DownloadRequest.didMoveFileNotification, DownloadRequest.didFailToMoveFileNotification,
            Request.didCompleteNotification,
        ])
        let session = session(monitor)
        let scratch = try ScratchDirectory()
        let good = session.download("https://example.com/", to: destination(scratch.file("a")))
        _ = try await good.file()
        // Another file appears at the destination while the download is in progress.
        let bad = session.download("https://example.com/", to: destination(scratch.file("b")))
        bad.validate { _, _, _ in
            try? Data().write(to: scratch.file("b"))
            return .success(())
        }
        _ = try? await bad.file()
        await monitor.queue.settled()
        #expect(
            listener.about(good).map(\.name) == [
                DownloadRequest.didMoveFileNotification, Request.didCompleteNotification,
            ])
        #expect(listener.about(good).allSatisfy { $0.file == scratch.file("a") })
        #expect(
            listener.about(bad).map(\.name) == [
                DownloadRequest.didFailToMoveFileNotification, Request.didCompleteNotification,
            ])
        #expect(listener.about(bad).map(\.code) == [.destinationExists, .destinationExists])
    }

    @Test("the end of a session is posted once")
    func session() async throws {
        let monitor = RequestNotifications(queue: DispatchQueue(label: "n"))
        let listener = Listener([Session.didInvalidateNotification])
        let name = UUID().uuidString
        await session(monitor, name).invalidate()
        await monitor.queue.settled()
        #expect(listener.about(session: name).count == 1)
    }
}
