import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import Testing

@testable import Curlew

/// Handlers that are attached while another thread starts, suspends or ends their request.
@Suite(.timeLimit(.minutes(4)))
struct HandlerRaceTests {
    /// The action of the other thread.
    enum Other: String, CaseIterable {
        case attaches, resumes, suspendsAndResumes, cancels, awaits, awaitsAndCancels
    }

    enum Kind: String, CaseIterable { case data, download, stream }

    /// One of the two threads starts the run. A task that only runs handlers must not replace the driver of the run. A
    /// handler that is attached while a run ends belongs either to that run or to a separate task.
    @Test(arguments: Other.allCases, [(Kind.data, false), (.data, true), (.download, false), (.stream, false)])
    func everyHandlerIsCalledOnce(_ other: Other, _ request: (kind: Kind, isEager: Bool)) async {
        let session = Session(
            transport: MockTransport { _ in .text("x") },
            requestSetup: request.isEager ? .eager : .lazy
        )
        for round in 0..<500 {
            let calls = Recorded<Int>()
            let group = DispatchGroup()
            let (request, add) = cold(request.kind, in: session)
            let attach: @Sendable (Int) -> Void = { name in
                group.enter()
                add {
                    calls.note(name)
                    group.leave()
                }
            }
            // Attaching a handler starts the request, so in half of the rounds it may already be running.
            if round % 2 == 0 { attach(0) }
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                if index == 0 { return attach(1) }
                switch other {
                case .attaches: attach(2)
                case .resumes: request.resume()
                case .suspendsAndResumes: request.suspend().resume()
                case .cancels: request.cancel()
                case .awaits, .awaitsAndCancels:
                    group.enter()
                    Task {
                        await outcome(of: request)
                        group.leave()
                    }
                    if other == .awaitsAndCancels { request.cancel() }
                }
            }
            let isOver = await group.isOver(within: 100)
            #expect(isOver, "round \(round) hangs")
            let expected: [Int] = (round % 2 == 0 ? [0] : []) + (other == .attaches ? [1, 2] : [1])
            #expect(calls.all.sorted() == expected)
            guard isOver else { break }
        }
        await session.drain()
    }

    /// Returns a request, and a closure that attaches another completion handler to it.
    private func cold(_ kind: Kind, in session: Session) -> (
        Request, @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        let url = "https://example.org/"
        switch kind {
        case .data:
            let request = session.request(url)
            return (request, { done in request.response(queue: .global()) { _ in done() } })
        case .download:
            let request = session.download(url)
            return (
                request,
                { done in
                    request.response(queue: .global()) { response in
                        // Without a destination the file belongs to its receiver.
                        if let file = response.fileURL { try? FileManager.default.removeItem(at: file) }
                        done()
                    }
                }
            )
        case .stream:
            let request = session.streamRequest(url)
            return (
                request,
                { done in
                    request.responseStream(on: .global()) { stream in
                        if case .complete = stream.event { done() }
                    }
                }
            )
        }
    }

    private func outcome(of request: Request) async {
        switch request {
        case let request as DataRequest: _ = try? await request.data()
        case let request as DownloadRequest: _ = try? await request.file()
        case let request as DataStreamRequest: _ = try? await request.head()
        default: Issue.record("a kind of request that is not awaited")
        }
    }
}

extension DispatchGroup {
    /// Waits without blocking a thread.
    fileprivate func isOver(within seconds: Double) async -> Bool {
        await withCheckedContinuation { continuation in
            let first = Lock<CheckedContinuation<Bool, Never>?>(continuation)
            let answer: @Sendable (Bool) -> Void = { isOver in
                first.withLock { exchange(&$0, with: nil) }?.resume(returning: isOver)
            }
            let deadline = DispatchWorkItem { answer(false) }
            notify(queue: .global()) {
                deadline.cancel()
                answer(true)
            }
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: deadline)
        }
    }
}
