import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Body channel", .timeLimit(.minutes(4)))
struct BodyChannelTests {
    /// Counts the calls that a channel makes to its transfer.
    final class CountingControl: TransferControl {
        private let counts = Lock((resumed: 0, cancelled: 0))
        let onResume: @Sendable () -> Void

        init(onResume: @escaping @Sendable () -> Void = {}) { self.onResume = onResume }

        var resumed: Int { counts.withLock { $0.resumed } }

        func resumeReceiving() {
            counts.withLock { $0.resumed += 1 }
            onResume()
        }
        func suspend() {}
        func resume() {}
        func cancel(with error: CurlewError) { counts.withLock { $0.cancelled += 1 } }
    }

    func send(_ text: String, into channel: BodyChannel) -> Bool {
        var bytes = Data(text.utf8)
        return bytes.withUnsafeMutableBytes { buffer in
            if case .proceed = channel.receive(UnsafeRawBufferPointer(buffer)) { true } else { false }
        }
    }

    @Test("chunks arrive in order, then the end")
    func order() async throws {
        let channel = BodyChannel()
        #expect(send("one", into: channel))
        #expect(send("two", into: channel))
        channel.finish()
        var reader = StreamReader(channel) {}
        #expect(try await reader.next() == Data("one".utf8))
        #expect(try await reader.next() == Data("two".utf8))
        #expect(try await reader.next() == nil)
        #expect(try await reader.next() == nil)
    }

    /// A control whose turns a test ends.
    final class TurningControl: TurnControl {
        private let observers = Lock<[any TurnObserver]>([])

        func atEndOfTurn(tell observer: any TurnObserver) { observers.withLock { $0.append(observer) } }
        func endTurn() -> Int {
            let told = observers.withLock { exchange(&$0, with: []) }
            for observer in told { observer.turnEnded() }
            return told.count
        }
        func resumeReceiving() {}
        func suspend() {}
        func resume() {}
        func cancel(with error: CurlewError) {}
    }

    @Test("a waiting reader is woken once for all bytes of a turn")
    func turns() async throws {
        let channel = BodyChannel()
        let control = TurningControl()
        channel.producerStarts(control)
        async let all = channel.take()
        try await eventually { channel.hasWaiter }
        for text in ["one", "two", "three"] { #expect(send(text, into: channel)) }
        #expect(channel.hasWaiter)
        #expect(control.endTurn() == 1)
        #expect(try await all == [Data("one".utf8), Data("twothree".utf8)])
        #expect(control.endTurn() == 0)
        channel.finish()
        #expect(try await channel.take() == nil)
    }

    @Test("a turn's bytes are joined into pieces of 64 KiB")
    func pieces() async throws {
        let channel = BodyChannel(mark: 1 << 20)
        let control = TurningControl()
        channel.producerStarts(control)
        let text = String(repeating: "x", count: 16 * 1024)
        for _ in 0..<9 { #expect(send(text, into: channel)) }
        #expect(control.endTurn() == 1)
        let pieces = try await channel.take() ?? []
        #expect(pieces.map(\.count) == [65_536, 65_536, 16_384])
        #expect(pieces.allSatisfy { $0.allSatisfy { $0 == UInt8(ascii: "x") } })
    }

    @Test("bytes count towards the channel's mark before their turn ends")
    func turnReachesMark() async throws {
        let channel = BodyChannel(mark: 200_000)
        let control = TurningControl()
        channel.producerStarts(control)
        let text = String(repeating: "x", count: 16 * 1024)
        var taken = 0
        while taken < 1000, send(text, into: channel) { taken += 1 }
        #expect(taken == 16)
        #expect(control.endTurn() == 1)
        #expect(try await channel.take()?.map(\.count) == [Int](repeating: 65_536, count: 4))
        #expect(send(text, into: channel))
    }

    @Test("bytes received outside of a turn are delivered at the end of the body")
    func withoutTurn() async throws {
        let channel = BodyChannel()
        channel.producerStarts(TurningControl())
        #expect(send("held back", into: channel))
        channel.finish()
        #expect(try await channel.take() == [Data("held back".utf8)])
        #expect(try await channel.take() == nil)
    }

    @Test("a waiting reader gets bytes from another thread")
    func crossThread() async throws {
        let channel = BodyChannel()
        let producer = Thread {
            for index in 0..<1000 {
                while !self.send(String(index), into: channel) { sched_yield() }
            }
            channel.finish()
        }
        producer.start()
        var reader = StreamReader(channel) {}
        var index = 0
        while let chunk = try await reader.next() {
            #expect(chunk == Data(String(index).utf8))
            index += 1
        }
        #expect(index == 1000)
    }

    @Test("chunks held back by a pause are delivered after it, and memory stays near the mark")
    func backPressure() async throws {
        let channel = BodyChannel(mark: 4096)
        let (wakes, waker) = AsyncStream.makeStream(of: Void.self)
        let control = CountingControl { waker.yield() }
        channel.producerStarts(control)
        let total = 1000
        let producer = Task {
            var iterator = wakes.makeAsyncIterator()
            var index = 0
            var pauses = 0
            while index < total {
                if send(String(format: "%0512d", index), into: channel) {
                    index += 1
                    #expect(channel.bufferedCost < 4096 + 600)
                } else {
                    pauses += 1
                    await iterator.next()
                }
            }
            channel.finish()
            return pauses
        }
        var reader = StreamReader(channel) {}
        var count = 0
        while let chunk = try await reader.next() {
            #expect(chunk == Data(String(format: "%0512d", count).utf8))
            count += 1
        }
        #expect(count == total)
        let pauses = await producer.value
        #expect(control.resumed == pauses)
    }

    @Test("a reader gets the bytes before an error first")
    func error() async throws {
        let channel = BodyChannel()
        #expect(send("one", into: channel))
        channel.finish(throwing: CurlewError(.truncated, phase: .receive))
        var reader = StreamReader(channel) {}
        #expect(try await reader.next() == Data("one".utf8))
        do throws(CurlewError) {
            _ = try await reader.next()
            Issue.record("the error is lost")
        } catch {
            #expect(error.code == .truncated)
        }
        #expect(try await reader.next() == nil)
    }

    @Test("cancelling a waiting reader ends its wait and the transfer", arguments: 0..<20)
    func cancelWhileWaiting(_ round: Int) async {
        let abandoned = Lock(0)
        let channel = BodyChannel { abandoned.withLock { $0 += 1 } }
        let reader = Task { () -> CurlewError.Code? in
            var reader = StreamReader(channel) {}
            do throws(CurlewError) {
                while try await reader.next() != nil {}
                return nil
            } catch {
                return error.code
            }
        }
        if round % 2 == 0 { await Task.yield() }
        reader.cancel()
        #expect(await reader.value == .cancelled)
        #expect(abandoned.withLock { $0 } == 1)
        #expect(!send("late", into: channel))
        #expect(channel.bufferedCost == 0)
    }

    @Test("a cancelled task reads nothing more, even if bytes are buffered")
    func cancelledWithBufferedBytes() async {
        let channel = BodyChannel()
        #expect(send("one", into: channel))
        let reader = Task { () -> CurlewError.Code? in
            withUnsafeCurrentTask { $0?.cancel() }
            var reader = StreamReader(channel) {}
            do throws(CurlewError) {
                _ = try await reader.next()
                return nil
            } catch {
                return error.code
            }
        }
        #expect(await reader.value == .cancelled)
        #expect(channel.bufferedCost == 0)
    }

    @Test("a reader that leaves after the end does not cancel the transfer")
    func leaveAfterEnd() async throws {
        let abandoned = Lock(0)
        let channel = BodyChannel { abandoned.withLock { $0 += 1 } }
        channel.finish()
        channel.leave()
        #expect(abandoned.withLock { $0 } == 0)
    }

    @Test("bytes received while a leaving reader cancels the transfer are held back without an error")
    func offersWhileLeaving() {
        let answers = Lock<[String]>([])
        let held = Lock<BodyChannel?>(nil)
        let channel = BodyChannel {
            let answer = held.withLock { $0 }?.receive(UnsafeRawBufferPointer(start: nil, count: 0))
            if case .pause? = answer { answers.withLock { $0.append("pause") } }
        }
        held.withLock { $0 = channel }
        channel.leave()
        #expect(answers.withLock { $0 } == ["pause"])
        held.withLock { $0 = nil }
    }
}
