import CurlewAFNetworking
import CurlewAlamofire
import CurlewCore
import Foundation
import Testing

@testable import Curlew
@testable import CurlewTesting

@Suite(.timeLimit(.minutes(4)))
struct BodyStreamTests {
    static let large = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })

    private static func form() throws -> (MultipartFormData, URL) {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString + ".bin")
        try large.write(to: url)
        let form = MultipartFormData(boundary: "B")
        form.append(Data("small".utf8), withName: "a")
        form.append(url, withName: "file")
        form.append(Data(), withName: "empty")
        return (form, url)
    }

    @Test(arguments: [1 << 10, 1 << 16, 1 << 20, 7919])
    func streamsFormsWithTheirExactLength(portion: Int) async throws {
        let (form, url) = try Self.form()
        defer { try? FileManager.default.removeItem(at: url) }
        let (body, length) = try stream(form.body())
        let expected = try form.encode()
        #expect(length == Int64(expected.count))
        let reader = BodyReader()
        body.open(waker: reader)
        #expect(try await reader.readAll(body, portion: portion) == expected)
        body.close()
    }

    @Test func formsCanBeSentAgain() async throws {
        let (form, url) = try Self.form()
        defer { try? FileManager.default.removeItem(at: url) }
        let expected = try form.encode()
        let (body, _) = try stream(form.body())
        #expect(body.isReplayable)
        let reader = BodyReader()
        body.open(waker: reader)
        _ = try await reader.readAll(body, atMost: 300_000)
        #expect(body.rewind())
        #expect(try await reader.readAll(body) == expected)
        body.close()
        body.open(waker: reader)
        #expect(try await reader.readAll(body) == expected)
        body.close()
    }

    @Test func truncatedFileEndsTheBodyWithAnError() async throws {
        let (form, url) = try Self.form()
        defer { try? FileManager.default.removeItem(at: url) }
        let (body, _) = try stream(form.body())
        let file = try FileHandle(forWritingTo: url)
        try file.truncate(atOffset: 500_000)
        try file.close()
        let reader = BodyReader()
        body.open(waker: reader)
        let error = await #expect(throws: CurlewError.self) { try await reader.readAll(body) }
        #expect(
            error?.underlyingError as? AFError.UnexpectedInputStreamLength
                == AFError.UnexpectedInputStreamLength(bytesExpected: 1_000_000, bytesRead: 500_000)
        )
        body.close()
    }

    @Test func bytesAppendedToFileAreNotSent() async throws {
        let (form, url) = try Self.form()
        defer { try? FileManager.default.removeItem(at: url) }
        let expected = try form.encode()
        let (body, _) = try stream(form.body())
        try (Self.large + Self.large).write(to: url)
        let reader = BodyReader()
        body.open(waker: reader)
        #expect(try await reader.readAll(body) == expected)
        body.close()
    }

    @Test func missingFileIsUnreadable() async throws {
        let (form, url) = try Self.form()
        let (body, _) = try stream(form.body())
        try FileManager.default.removeItem(at: url)
        let reader = BodyReader()
        body.open(waker: reader)
        let error = await #expect(throws: CurlewError.self) { try await reader.readAll(body) }
        #expect(error?.code == .fileUnreadable)
        body.close()
    }

    @Test func throttledFormPausesBetweenPackets() async throws {
        let form = MultipartFormData(boundary: "B")
        form.append(Data(repeating: 1, count: 1000), withName: "a")
        form.throttleBandwidth(packetSize: 300, delay: 0.01)
        let (body, _) = try stream(form.body())
        let reader = BodyReader()
        let clock = ContinuousClock()
        let start = clock.now
        body.open(waker: reader)
        let data = try await reader.readAll(body, portion: 10_000)
        #expect(try data == form.encode())
        // At least four packets, with a pause after each but the last.
        #expect(clock.now - start >= .milliseconds(30))
        body.close()
    }

    @Test func inputStreamsAreReadOnce() async throws {
        let (body, length) = try stream(.inputStream(InputStream(data: Self.large), length: 1_000_000))
        #expect(length == 1_000_000)
        #expect(!body.isReplayable)
        let reader = BodyReader()
        body.open(waker: reader)
        #expect(body.rewind())
        #expect(try await reader.readAll(body) == Self.large)
        #expect(!body.rewind())
        body.close()
        body.open(waker: reader)
        let error = await #expect(throws: CurlewError.self) { try await reader.readAll(body) }
        #expect(error?.code == .bodyUnavailable)
        body.close()
    }

    @Test func aBrokenInputStreamFails() async throws {
        let missing = try #require(InputStream(url: URL(filePath: "/nonexistent/\(UUID())")))
        let (body, _) = try stream(.inputStream(missing))
        let reader = BodyReader()
        body.open(waker: reader)
        let error = await #expect(throws: CurlewError.self) { try await reader.readAll(body) }
        #expect(error?.code == .bodyUnavailable)
        body.close()
    }

    @Test func sequencesAreSentChunkByChunk() async throws {
        let chunks = AsyncStream<Data> { continuation in
            for text in ["one", "", "two", "three"] { continuation.yield(Data(text.utf8)) }
            continuation.finish()
        }
        let (body, length) = try stream(.sequence(chunks))
        #expect(length == nil)
        let reader = BodyReader()
        body.open(waker: reader)
        #expect(try await reader.readAll(body, portion: 2) == Data("onetwothree".utf8))
        #expect(!body.rewind())
        body.close()
    }

    @Test func sequencesArePulledOnlyAsFastAsTheyAreRead() async throws {
        let pulled = Watched(0)
        let endless = AsyncStream<Data>(unfolding: {
            pulled.change { $0 += 1 }
            return Data(repeating: 7, count: 100)
        })
        let (body, _) = try stream(.sequence(endless))
        let reader = BodyReader()
        body.open(waker: reader)
        #expect(try await reader.readAll(body, portion: 50, atMost: 950).count == 950)
        // Half of the tenth chunk is read, and the eleventh has not been requested.
        #expect(pulled.value == 10)
        body.close()
    }

    @Test func unreadBodyCanBeOpenedAgain() async throws {
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Self.large)
            continuation.finish()
        }
        for source in [BodySource.inputStream(InputStream(data: Self.large)), .sequence(chunks)] {
            let (body, _) = try stream(source)
            let reader = BodyReader()
            for _ in 0..<3 {
                body.open(waker: reader)
                body.close()
            }
            body.open(waker: reader)
            #expect(body.rewind())
            #expect(try await reader.readAll(body) == Self.large)
            body.close()
        }
    }

    @Test("a body opened twice within an exchange iterates its sequence once", arguments: [false, true])
    func secondOpening(afterAnExchange: Bool) async throws {
        let made = Watched(0)
        let body = SequenceBodyStream {
            made.change { $0 += 1 }
            return AsyncStream<Data> { continuation in
                for text in ["one", "two", "three"] { continuation.yield(Data(text.utf8)) }
                continuation.finish()
            }
        }
        let reader = BodyReader()
        if afterAnExchange {
            body.bind()
            body.unbind()
        }
        body.bind()
        body.open(waker: reader)
        body.close()
        body.open(waker: reader)
        #expect(try await reader.readAll(body) == Data("onetwothree".utf8))
        #expect(made.value == 1)
        body.close()
        body.unbind()
    }

    @Test func recreatableSequenceCanBeRewound() async throws {
        let made = Watched(0)
        let body = RemadeSequenceBody {
            made.change { $0 += 1 }
            return AsyncStream<Data> { continuation in
                for text in ["one", "two", "three"] { continuation.yield(Data(text.utf8)) }
                continuation.finish()
            }
        }
        let reader = BodyReader()
        #expect(body.isReplayable)
        body.open(waker: reader)
        // Nothing has been read, so the existing sequence is used.
        #expect(body.rewind())
        #expect(try await reader.readAll(body, portion: 2, atMost: 4) == Data("onetw".utf8))
        #expect(made.value == 1)
        #expect(body.rewind())
        #expect(try await reader.readAll(body, portion: 2) == Data("onetwothree".utf8))
        #expect(body.rewind())
        #expect(try await reader.readAll(body) == Data("onetwothree".utf8))
        #expect(made.value == 3)
        body.close()
        body.open(waker: reader)
        #expect(try await reader.readAll(body) == Data("onetwothree".utf8))
        body.close()
    }

    private func isPending(_ body: any BodyStream) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 10)
        return if case .pending = buffer.withUnsafeMutableBytes({ body.read(into: $0) }) { true } else { false }
    }

    @Test func waitingSequenceIsCancelledWithItsBody() async throws {
        let silent = SilentSequence()
        let (body, _) = try stream(.sequence(silent))
        body.open(waker: BodyReader())
        try #require(isPending(body))
        try await silent.asked.wait()
        body.close()
        try await silent.cancelled.wait()
    }

    @Test func chunkThatArrivesAfterTheCloseIsNotSent() async throws {
        let late = LateSequence()
        let (body, _) = try stream(.sequence(late))
        body.open(waker: BodyReader())
        try #require(isPending(body))
        try await late.asked.wait()
        body.close()
        late.isClosed.resolve(())
        // The chunk has been passed on before the sequence is asked again.
        try await late.askedAgain.wait()
        body.open(waker: BodyReader())
        var buffer = [UInt8](repeating: 0, count: 10)
        guard case .failed(let error) = buffer.withUnsafeMutableBytes({ body.read(into: $0) }) else {
            Issue.record("it has something")
            return
        }
        #expect(error.code == .bodyUnavailable)
        body.close()
    }

    @Test func aSequenceThatThrowsIsUnavailable() async throws {
        struct Reason: Error {}
        let failing = AsyncThrowingStream<Data, any Error> { continuation in
            continuation.yield(Data("one".utf8))
            continuation.finish(throwing: Reason())
        }
        let (body, _) = try stream(.sequence(SendableSequence(failing)))
        let reader = BodyReader()
        body.open(waker: reader)
        let error = await #expect(throws: CurlewError.self) { try await reader.readAll(body) }
        #expect(error?.code == .bodyUnavailable)
        #expect(error?.underlying is Reason)
        body.close()
    }
}

/// A sequence that yields nothing until its read is cancelled.
private struct SilentSequence: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let asked = Gate()
    let cancelled = Gate()

    func makeAsyncIterator() -> SilentSequence { self }

    func next() async -> Data? {
        asked.open()
        do {
            try await Gate().wait()
        } catch {
            cancelled.open()
        }
        return nil
    }
}

/// A sequence that yields a chunk only after its body has been closed, whether its task is cancelled or not.
private struct LateSequence: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let asked = Gate()
    let isClosed = OneShot<Void>()
    let askedAgain = Gate()

    func makeAsyncIterator() -> LateSequence { self }

    func next() async -> Data? {
        guard !asked.isOpen else {
            askedAgain.open()
            return nil
        }
        asked.open()
        _ = await isClosed.waitThroughCancellation()
        return Data("late".utf8)
    }
}

private struct SendableSequence: AsyncSequence, Sendable {
    let base: AsyncThrowingStream<Data, any Error>

    init(_ base: AsyncThrowingStream<Data, any Error>) { self.base = base }

    func makeAsyncIterator() -> AsyncThrowingStream<Data, any Error>.AsyncIterator { base.makeAsyncIterator() }
}
