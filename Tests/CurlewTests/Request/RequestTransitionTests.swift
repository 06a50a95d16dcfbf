import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// The decisions that start, suspend and end a request, made without running one.
@Suite("Transitions of a request")
struct RequestTransitionTests {
    private static let session = Session(transport: MockTransport { _ in .text("x") })

    private func record() -> RequestRecord { RequestRecord(session: .strong(Self.session), interceptor: nil) }

    private static let result = RunResult(error: nil)

    private func isRunning(_ record: RequestRecord) -> Bool { record.run.active != nil }

    @Test func oneAwaiterDrivesOthersJoinAndTheEndIsTheEnd() {
        var record = record()
        guard case .drive(becameResumed: true, startsHandlers: false) = record.awaited() else {
            Issue.record("the first awaiter drives")
            return
        }
        #expect(record.state == .resumed && isRunning(record))
        guard case .join = record.awaited() else {
            Issue.record("the second joins")
            return
        }
        _ = record.end(with: Self.result)
        guard case .ended(let result) = record.awaited() else {
            Issue.record("later ones get the result")
            return
        }
        #expect(result === Self.result)
        record.finish()
        #expect(record.state == .finished)
        #expect(record.cancel(with: .cancelled) == nil)
    }

    @Test func aSuspendedRequestHoldsItsDriverAndResumingLetsItGo() {
        var record = record()
        let isSuspended = record.suspend()
        #expect(isSuspended)
        guard case .drive(becameResumed: false, startsHandlers: false) = record.awaited() else {
            Issue.record("suspended before its start it stays suspended")
            return
        }
        let hold = record.hold(wasAskedFor: true)
        #expect(hold != nil && record.hold(wasAskedFor: true) === hold)
        guard case .proceed(task: nil, hold: let released) = record.resume() else {
            Issue.record("there is a run to go on")
            return
        }
        #expect(released === hold)
        #expect(record.hold(wasAskedFor: true) == nil)
        #expect(record.resume() == nil)
    }

    @Test func theFirstAwaiterLetsADriverThatWaitsReadItsTimeout() {
        var record = record()
        record.run.begins()
        _ = record.suspend()
        let hold = record.hold(wasAskedFor: false)
        guard case .join(hold: let released?) = record.awaited() else {
            Issue.record("the driver does not know that the result is asked for")
            return
        }
        #expect(released === hold)
        #expect(record.hold(wasAskedFor: false) == nil)
        #expect(record.hold(wasAskedFor: true) != nil)
        guard case .join(hold: nil) = record.awaited() else {
            Issue.record("the driver knows")
            return
        }
    }

    @Test func aRequestThatNeverRanEndsAtOnceWhenItIsCancelled() {
        var record = record()
        guard case .end(let ending) = record.cancel(with: .cancelled) else {
            Issue.record("there is no run that could end it")
            return
        }
        #expect(ending.result.error?.code == .cancelled)
        #expect(record.run.result === ending.result && record.isCancelled)
        #expect(record.cancel(with: .cancelled) == nil)
    }

    @Test func aRunningRequestIsToldToStop() {
        var record = record()
        _ = record.awaited()
        #expect(record.run.begins(ActiveExchange(TaskIdentifier(rawValue: 7), .running)) != nil)
        guard case .stop(let parts) = record.cancel(with: .cancelled) else {
            Issue.record("the run ends by itself")
            return
        }
        #expect(parts.task == TaskIdentifier(rawValue: 7))
        #expect(isRunning(record))
    }

    @Test func aHandlerAfterTheEndReopensTheRequest() {
        var record = record()
        _ = record.awaited()
        _ = record.end(with: Self.result)
        record.finish()
        guard case .work = record.attach({ _ in .init(complete: { _ in }) }, startsImmediately: true) else {
            Issue.record("a task has to work on it")
            return
        }
        #expect(record.state == .resumed)
        guard case .none = record.attach({ _ in .init(complete: { _ in }) }, startsImmediately: true) else {
            Issue.record("there is one worker")
            return
        }
    }

    @Test func theFirstHandlerStartsTheRequestOrLeavesItToItsSession() {
        var record = record()
        guard case .resume(.start) = record.attach({ _ in .init(complete: { _ in }) }, startsImmediately: true) else {
            Issue.record("it starts")
            return
        }
        var other = self.record()
        guard case .shelve = other.attach({ _ in .init(complete: { _ in }) }, startsImmediately: false) else {
            Issue.record("it waits for its start")
            return
        }
        #expect(other.state == .initialized)
    }

    /// A transport is told one thing at a time, and only changes that it has not been told.
    @Test func theExchangeIsToldWhatItDoesNotKnow() {
        var record = record()
        _ = record.awaited()
        #expect(record.run.begins(ActiveExchange(TaskIdentifier(rawValue: 1), .running)) != nil)
        #expect(record.nextTold() == nil)
        record.run.active?.exchange?.control = NoControl()
        #expect(record.nextTold() == nil)
        _ = record.suspend()
        #expect(record.nextTold()?.isSuspended == true)
        #expect(record.nextTold() == nil)
        _ = record.resume()
        #expect(record.nextTold() == nil)
        record.wasTold(TaskIdentifier(rawValue: 1))
        #expect(record.nextTold()?.isSuspended == false)
    }

    /// A thread that has told one exchange must not release the next one, which another thread is telling.
    @Test func oneThreadAtATimeTellsTheNextExchange() {
        var record = record()
        _ = record.awaited()
        let (first, second) = (TaskIdentifier(rawValue: 1), TaskIdentifier(rawValue: 2))
        for task in [first, second] {
            #expect(record.run.begins(ActiveExchange(task, .running)) != nil)
            record.run.active?.exchange?.control = NoControl()
            if task == first {
                _ = record.suspend()
                #expect(record.nextTold()?.task == first)
            }
        }
        #expect(record.nextTold()?.task == second)
        record.wasTold(first)
        _ = record.resume()
        #expect(record.nextTold() == nil)
        record.wasTold(second)
        #expect(record.nextTold()?.isSuspended == false)
    }

    private final class NoControl: TransferControl {
        func resumeReceiving() {}
        func suspend() {}
        func resume() {}
        func cancel(with error: CurlewError) {}
    }
}
