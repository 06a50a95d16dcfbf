import Curlew
import CurlewAFNetworking
import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import Testing

@Suite("A session's completion queue and group", .timeLimit(.minutes(4)))
struct CompletionQueueTests {
    private static let key = DispatchSpecificKey<String>()

    private static func queue(_ name: String) -> DispatchQueue {
        let queue = DispatchQueue(label: name)
        queue.setSpecific(key: key, value: name)
        return queue
    }

    private func configuration(_ group: DispatchGroup? = nil) -> SessionConfiguration {
        SessionConfiguration {
            $0.completionQueue = Self.queue("session")
            $0.completionGroup = group
        }
    }

    @Test("handlers without a queue of their own are called on the session's completion queue")
    func queues() async {
        let session = Session(configuration: configuration(), transport: MockTransport { _ in .text("x") })
        let name = await withCheckedContinuation { continuation in
            session.request("https://example.com").response { _ in
                continuation.resume(returning: DispatchQueue.getSpecific(key: Self.key))
            }
        }
        #expect(name == "session")
        let own = await withCheckedContinuation { continuation in
            session.request("https://example.com").responseString(queue: Self.queue("own")) { _ in
                continuation.resume(returning: DispatchQueue.getSpecific(key: Self.key))
            }
        }
        #expect(own == "own")
        let download = await withCheckedContinuation { continuation in
            session.download("https://example.com").responseData { response in
                continuation.resume(returning: DispatchQueue.getSpecific(key: Self.key))
                if let file = response.fileURL { try? FileManager.default.removeItem(at: file) }
            }
        }
        #expect(download == "session")
        let stream = await withCheckedContinuation { continuation in
            session.streamRequest("https://example.com").responseStreamString { stream in
                if case .complete = stream.event {
                    continuation.resume(returning: DispatchQueue.getSpecific(key: Self.key))
                }
            }
        }
        #expect(stream == "session")
    }

    @Test("the completion group is left when every handler has been called")
    func group() async {
        let group = DispatchGroup()
        let called = Recorded<Int>()
        let session = Session(
            configuration: configuration(group),
            transport: MockTransport { request in
                if request.path == "/fails" { throw CurlewError(.receiveFailed, phase: .receive) }
                return .text("x")
            })
        for number in 0..<10 {
            session.request(number == 3 ? "https://example.com/fails" : "https://example.com/")
                .response { _ in called.note(number) }
                .responseString { _ in called.note(number + 100) }
        }
        session.streamRequest("https://example.com/").responseStream { stream in
            if case .complete = stream.event { called.note(1000) }
        }
        await withCheckedContinuation { continuation in
            group.notify(queue: .global()) { continuation.resume() }
        }
        let expected: [Int] = Array(0..<10) + Array(100..<110) + [1000]
        #expect(called.all.sorted() == expected)
    }

    @Test("a request that is never started leaves the completion group when its session is released")
    func neverStarted() async {
        let group = DispatchGroup()
        let code = Recorded<CurlewError.Code?>()
        var session: Session? = Session(
            configuration: configuration(group),
            transport: MockTransport { _ in .text("x") },
            startRequestsImmediately: false
        )
        session?.request("https://example.com").response { code.note($0.error?.code) }
        session = nil
        await withCheckedContinuation { continuation in
            group.notify(queue: .global()) { continuation.resume() }
        }
        #expect(code.all == [.sessionClosed])
    }
}
