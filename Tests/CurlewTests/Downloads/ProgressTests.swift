import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Progress", .timeLimit(.minutes(4)))
struct ProgressTests {
    let session = Session()

    @Test("progress counts grow up to the total, and a speed is reported with them")
    func closure() async throws {
        let gate = Gate()
        let service = try FileService {
            $0.sendRate = 5 << 20
            $0.stall = 1 << 19
            $0.gate = gate
        }
        let seen = Lock<[(Int64, Int64, Int?, TimeInterval?)]>([])
        let queue = DispatchQueue(label: "progress")
        let request = session.download(service.url).downloadProgress(queue: queue) { progress in
            seen.withLock {
                $0.append(
                    (
                        progress.completedUnitCount, progress.totalUnitCount, progress.throughput,
                        progress.estimatedTimeRemaining
                    ))
            }
            // A speed can be measured only if some time passes between the head and the last value.
            queue.asyncAfter(deadline: .now() + 0.1) { gate.open() }
        }
        let url = try await request.file()
        defer { try? FileManager.default.removeItem(at: url) }
        queue.sync {}
        let all = seen.withLock { $0 }
        #expect(all.map(\.0) == all.map(\.0).sorted())
        #expect(all.allSatisfy { $0.1 == 1 << 20 })
        #expect(all.last?.0 == 1 << 20)
        let speeds = all.compactMap(\.2)
        #expect(!speeds.isEmpty)
        #expect(speeds.allSatisfy { $0 > 0 })
        #expect(all.compactMap(\.3).allSatisfy { $0 >= 0 && $0.isFinite })
    }

    @Test("a progress stream ends with the request, and its last value is complete")
    func stream() async throws {
        let service = try FileService()
        let request = session.download(service.url)
        let progress = request.downloadProgress()
        async let file = request.file()
        var last: Progress?
        for await value in progress { last = value }
        try FileManager.default.removeItem(at: await file)
        #expect(last?.fractionCompleted == 1)
    }

    @Test("progress has at most twenty values a second, from an early one to the last")
    func paced() async throws {
        // Newer values replace those that wait for delivery, so most of the file waits until one has been delivered.
        let gate = Gate()
        let service = try FileService {
            $0.length = 64 << 20
            $0.stall = 1 << 20
            $0.gate = gate
        }
        let seen = Lock<[Int64]>([])
        let queue = DispatchQueue(label: "progress")
        let request = session.download(service.url).downloadProgress(queue: queue) { progress in
            seen.withLock { $0.append(progress.completedUnitCount) }
            gate.open()
        }
        let stream = request.downloadProgress(bufferingPolicy: .unbounded)
        let start = ContinuousClock.now
        let url = try await request.file()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        try FileManager.default.removeItem(at: url)
        queue.sync {}
        let most = Int(seconds * 20) + 2
        let told = seen.withLock { $0 }
        #expect(told.count <= most)
        #expect((told.first ?? .max) < 64 << 20)
        #expect(told.last == 64 << 20)
        var values: [Int64] = []
        for await progress in stream { values.append(progress.completedUnitCount) }
        #expect(values.count <= most)
        #expect(values == values.sorted() && values.last == 64 << 20)
    }

    @Test("a long progress interval gives at most two values, an interval of zero gives more")
    func otherPace() async throws {
        let service = try FileService { $0.length = 8 << 20 }
        let queue = DispatchQueue(label: "progress")
        let seen = Lock<[Int64]>([])
        let rare = session.download(service.url).downloadProgress(every: .seconds(600), queue: queue) { progress in
            seen.withLock { $0.append(progress.completedUnitCount) }
        }
        let values = rare.downloadProgress(every: .seconds(600), bufferingPolicy: .unbounded)
        let url = try await rare.file()
        try FileManager.default.removeItem(at: url)
        queue.sync {}
        #expect(seen.withLock { $0.count <= 2 && $0.last == 8 << 20 })
        let told = await values.reduce(into: []) { $0.append($1.completedUnitCount) }
        #expect(told.count <= 2 && told.last == 8 << 20)

        // Values that wait are merged, so each of the three pieces is sent only after a value for the one before.
        let (first, second) = (Gate(), Gate())
        let server = try TestServer()
        server.route("/file") { _ in
            .bytes(8 << 20)
                .stalling(until: first, at: .inBody(after: 2 << 20))
                .stalling(until: second, at: .inBody(after: 4 << 20))
        }
        let all = session.download(server.url("/file"))
        let every = all.downloadProgress(every: .zero, bufferingPolicy: .unbounded)
        async let file = all.file()
        var count = 0
        for await progress in every {
            count += 1
            first.open()
            if progress.completedUnitCount > 2 << 20 { second.open() }
        }
        try FileManager.default.removeItem(at: await file)
        #expect(count > 2)
    }

    @Test("an upload's progress keeps the interval that was requested")
    func pacedUpload() async throws {
        let server = try TestServer()
        let queue = DispatchQueue(label: "progress")
        let seen = Lock<[Int64]>([])
        let upload = session.upload(Data(count: 16 << 20), to: server.url("/anything"))
            .uploadProgress(every: .seconds(600), queue: queue) { progress in
                seen.withLock { $0.append(progress.completedUnitCount) }
            }
        let values = upload.uploadProgress(every: .seconds(600), bufferingPolicy: .unbounded)
        _ = await upload.response()
        queue.sync {}
        #expect(seen.withLock { $0.count <= 2 && $0.last == 16 << 20 })
        #expect(await values.reduce(into: []) { $0.append($1.completedUnitCount) }.last == 16 << 20)
    }

    @Test("the last progress of a body of unknown length counts the whole body")
    func lastOfUnknownLength() async throws {
        let server = try TestServer()
        server.route("/endless") { _ in
            TestServer.Response(body: .chunks(Array(repeating: Data(repeating: 1, count: 1000), count: 200)))
        }
        let queue = DispatchQueue(label: "progress")
        let seen = Lock<[Int64]>([])
        let request = session.request(server.url("/endless")).downloadProgress(every: .seconds(600), queue: queue) {
            let count = $0.completedUnitCount
            seen.withLock { $0.append(count) }
        }
        _ = try await request.data()
        queue.sync {}
        #expect(seen.withLock { $0.last } == 200_000)
    }

    @Test("progress of a stalled transfer counts all bytes that were received")
    func stalled() async throws {
        let service = try FileService { $0.stall = 500_000 }
        let request = session.download(service.url)
        async let response = request.response()
        for await progress in request.downloadProgress() where progress.completedUnitCount == 500_000 { break }
        request.cancel()
        #expect(await response.error?.code == .cancelled)
    }

    @Test("a late progress stream begins with the latest value, even after the request has ended")
    func late() async throws {
        let service = try FileService { $0.stall = 500_000 }
        let request = session.download(service.url)
        async let response = request.response()
        for await progress in request.downloadProgress() where progress.completedUnitCount == 500_000 { break }
        // Nothing more is received; the new stream begins with the latest value.
        for await progress in request.downloadProgress() {
            #expect(progress.completedUnitCount == 500_000)
            break
        }
        request.cancel()
        _ = await response
        for hadListeners in [true, false] {
            let server = try TestServer()
            let upload = session.upload(Data(count: 100_000), to: server.url("/anything"))
            if hadListeners { upload.uploadProgress(queue: .global()) { _ in } }
            let count = try await upload.data().count
            let sent = await upload.uploadProgress().reduce(into: []) { $0.append($1.completedUnitCount) }
            #expect(sent == [100_000])
            let received = await upload.downloadProgress(bufferingPolicy: .unbounded)
                .reduce(into: []) { $0.append($1.completedUnitCount) }
            #expect(received == [Int64(count)])
        }
        let cold = session.request(service.url)
        cold.cancel()
        #expect(await cold.downloadProgress().reduce(into: 0) { count, _ in count += 1 } == 0)
    }

    @Test("a slow queue gets only the latest progress")
    func merged() async throws {
        let service = try FileService { $0.length = 8 << 20 }
        let queue = DispatchQueue(label: "slow")
        queue.suspend()
        var isHeld = true
        // Releasing a suspended queue crashes the process.
        defer { if isHeld { queue.resume() } }
        let seen = Lock<[Int64]>([])
        let request = session.download(service.url).downloadProgress(queue: queue) { progress in
            seen.withLock { $0.append(progress.completedUnitCount) }
        }
        let url = try await request.file()
        try FileManager.default.removeItem(at: url)
        queue.resume()
        isHeld = false
        queue.sync {}
        #expect(seen.withLock { $0 } == [8 << 20])
    }

    @Test("a Progress of the user is updated during the download and counts towards its parent")
    func live() async throws {
        let gate = Gate()
        let service = try FileService {
            $0.stall = 500_000
            $0.gate = gate
        }
        let queue = DispatchQueue(label: "live")
        let parent = Progress(totalUnitCount: 2)
        let child = Progress(totalUnitCount: 1, parent: parent, pendingUnitCount: 1)
        let request = session.download(service.url).downloadProgress(updating: child, on: queue)
        async let file = request.file()
        try await eventually { queue.sync { child.completedUnitCount } == 500_000 }
        queue.sync {
            #expect(child.totalUnitCount == 1 << 20)
            #expect(parent.fractionCompleted > 0 && parent.fractionCompleted < 0.5)
        }
        gate.open()
        try FileManager.default.removeItem(at: await file)
        queue.sync {
            #expect(child.totalUnitCount == 1 << 20)
            #expect(child.completedUnitCount == 1 << 20)
            #expect(parent.fractionCompleted == 0.5)
        }
    }

    @Test("cancelling the user's Progress cancels the request")
    func cancelling() async throws {
        let service = try FileService { $0.stall = 100_000 }
        let progress = Progress(totalUnitCount: -1)
        let request = session.download(service.url).downloadProgress(updating: progress, on: .global())
        request.downloadProgress(queue: .global()) { _ in progress.cancel() }
        let response = await request.response()
        #expect(response.error?.code == .cancelled)
        #expect(request.isCancelled)
    }

    @Test("pausing or resuming a progress of the request suspends or resumes the request")
    func pausing() async throws {
        let service = try FileService()
        let request = session.download(service.url)
        // Foundation calls the handlers of a progress on its own queue, so the state changes later.
        request.downloadProgress.pause()
        try await eventually { request.isSuspended }
        let paused = request.downloadProgress
        paused.pause()
        paused.resume()
        try await eventually { request.isResumed }
        let response = await request.response()
        if let url = response.fileURL { try FileManager.default.removeItem(at: url) }
        #expect(response.error == nil)
        #expect(request.downloadProgress.fractionCompleted == 1)
    }

    @Test("the progress of a body of unknown length has no total")
    func unknownLength() async throws {
        let server = try TestServer()
        server.route("/endless") { _ in
            TestServer.Response(body: .chunks(Array(repeating: Data(repeating: 1, count: 1000), count: 20)))
        }
        let request = session.download(server.url("/endless"))
        let url = try await request.file()
        try FileManager.default.removeItem(at: url)
        #expect(request.downloadProgress.totalUnitCount == -1)
        #expect(request.downloadProgress.completedUnitCount == 20_000)
    }
}
