import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// Every event in every state of a request, without a run.
@Suite("The lifecycle of a request")
struct RequestLifecycleTests {
    /// A state, and how it is reached.
    enum Stage: String, CaseIterable {
        case new, suspendedBeforeStart, cancelledBeforeStart, prepared, running, suspended, cancelling, cancelled
        case ended, finished

        var lifecycle: RequestLifecycle {
            var life = RequestLifecycle()
            let result = RunResult(error: nil)
            switch self {
            case .new: break
            case .suspendedBeforeStart: _ = life.suspend()
            case .cancelledBeforeStart:
                if case .end(let result) = life.cancel(with: .cancelled) { _ = life.end(with: result) }
            case .prepared: _ = life.prepare()
            case .running: _ = life.awaitResult(hasHandlers: false)
            case .suspended:
                _ = life.awaitResult(hasHandlers: false)
                _ = life.suspend()
            case .cancelling:
                _ = life.awaitResult(hasHandlers: false)
                _ = life.cancel(with: .cancelled)
            case .cancelled:
                _ = life.awaitResult(hasHandlers: false)
                _ = life.cancel(with: .cancelled)
                _ = life.end(with: RunResult(error: .cancelled))
                life.finish()
            case .ended:
                _ = life.resume()
                _ = life.end(with: result)
            case .finished:
                _ = life.awaitResult(hasHandlers: false)
                _ = life.end(with: result)
                life.finish()
            }
            return life
        }
    }

    /// The stage, the result of the event, the state that users see, and the state of the run.
    private func row(_ stage: Stage, _ event: (inout RequestLifecycle) -> String) -> String {
        var life = stage.lifecycle
        let answer = event(&life)
        let run =
            switch life.run {
            case .idle: "idle"
            case .running: "running"
            case .ended: "ended"
            }
        return "\(stage) → \(answer) → \(life.state) \(run)"
    }

    private func table(_ event: (inout RequestLifecycle) -> String) -> [String] {
        Stage.allCases.map { row($0, event) }
    }

    private func name(_ resumption: RequestLifecycle.Resumption?) -> String {
        switch resumption {
        case .start: "start"
        case .proceed: "proceed"
        case nil: "-"
        }
    }

    @Test func resumeChangesEachStageAsListed() {
        #expect(
            table { name($0.resume()) } == [
                "new → start → resumed running",
                "suspendedBeforeStart → start → resumed running",
                "cancelledBeforeStart → - → cancelled ended",
                "prepared → proceed → resumed running",
                "running → - → resumed running",
                "suspended → proceed → resumed running",
                "cancelling → - → cancelled running",
                "cancelled → - → cancelled ended",
                "ended → - → resumed ended",
                "finished → - → finished ended",
            ])
    }

    @Test(arguments: [false, true]) func awaitingResultChangesEachStageAsListed(hasHandlers: Bool) {
        func name(_ action: RequestLifecycle.AwaitAction) -> String {
            switch action {
            case .drive(let becameResumed, let startsHandlers):
                "drive\(becameResumed ? " resumed" : "")\(startsHandlers ? " handlers" : "")"
            case .join: "join"
            case .ended: "ended"
            }
        }
        let handlers = hasHandlers ? " handlers" : ""
        #expect(
            table { name($0.awaitResult(hasHandlers: hasHandlers)) } == [
                "new → drive resumed\(handlers) → resumed running",
                "suspendedBeforeStart → drive\(handlers) → suspended running",
                "cancelledBeforeStart → ended → cancelled ended",
                "prepared → join → initialized running",
                "running → join → resumed running",
                "suspended → join → suspended running",
                "cancelling → join → cancelled running",
                "cancelled → ended → cancelled ended",
                "ended → ended → resumed ended",
                "finished → ended → finished ended",
            ])
    }

    @Test func preparingChangesEachStageAsListed() {
        #expect(
            table { $0.prepare() ? "starts" : "-" } == [
                "new → starts → initialized running",
                "suspendedBeforeStart → starts → suspended running",
                "cancelledBeforeStart → - → cancelled ended",
                "prepared → - → initialized running",
                "running → - → resumed running",
                "suspended → - → suspended running",
                "cancelling → - → cancelled running",
                "cancelled → - → cancelled ended",
                "ended → - → resumed ended",
                "finished → - → finished ended",
            ])
    }

    private func name(_ action: RequestLifecycle.HandlerAction) -> String {
        switch action {
        case .none: "-"
        case .resume(let resumption): "resume: \(name(resumption))"
        case .shelve: "shelve"
        case .startHandlers: "startHandlers"
        }
    }

    @Test func addingStartingHandlerChangesEachStageAsListed() {
        #expect(
            table { name($0.handlerAdded(startsImmediately: true)) } == [
                "new → resume: start → resumed running",
                "suspendedBeforeStart → shelve → suspended idle",
                "cancelledBeforeStart → startHandlers → cancelled ended",
                "prepared → resume: proceed → resumed running",
                "running → startHandlers → resumed running",
                "suspended → startHandlers → suspended running",
                "cancelling → startHandlers → cancelled running",
                "cancelled → startHandlers → cancelled ended",
                "ended → - → resumed ended",
                "finished → startHandlers → resumed ended",
            ])
    }

    @Test func addingWaitingHandlerChangesEachStageAsListed() {
        #expect(
            table { name($0.handlerAdded(startsImmediately: false)) } == [
                "new → shelve → initialized idle",
                "suspendedBeforeStart → shelve → suspended idle",
                "cancelledBeforeStart → startHandlers → cancelled ended",
                "prepared → - → initialized running",
                "running → startHandlers → resumed running",
                "suspended → startHandlers → suspended running",
                "cancelling → startHandlers → cancelled running",
                "cancelled → startHandlers → cancelled ended",
                "ended → - → resumed ended",
                "finished → startHandlers → resumed ended",
            ])
    }

    @Test func suspendingChangesEachStageAsListed() {
        #expect(
            table { $0.suspend() ? "suspends" : "-" } == [
                "new → suspends → suspended idle",
                "suspendedBeforeStart → - → suspended idle",
                "cancelledBeforeStart → - → cancelled ended",
                "prepared → suspends → suspended running",
                "running → suspends → suspended running",
                "suspended → - → suspended running",
                "cancelling → - → cancelled running",
                "cancelled → - → cancelled ended",
                "ended → suspends → suspended ended",
                "finished → - → finished ended",
            ])
    }

    @Test func cancellingChangesEachStageAsListed() {
        func name(_ action: RequestLifecycle.CancelAction?) -> String {
            switch action {
            case .end: "end"
            case .stop: "stop"
            case .hasEnded: "hasEnded"
            case nil: "-"
            }
        }
        #expect(
            table { name($0.cancel(with: .cancelled)) } == [
                "new → end → cancelled idle",
                "suspendedBeforeStart → end → cancelled idle",
                "cancelledBeforeStart → - → cancelled ended",
                "prepared → stop → cancelled running",
                "running → stop → cancelled running",
                "suspended → stop → cancelled running",
                "cancelling → - → cancelled running",
                "cancelled → - → cancelled ended",
                "ended → hasEnded → cancelled ended",
                "finished → - → finished ended",
            ])
    }

    @Test func endingAndFinishingEndsEveryStage() {
        #expect(
            table {
                _ = $0.end(with: RunResult(error: nil))
                $0.handlersEnded()
                return "end"
            }
                == Stage.allCases.map { stage in
                    let isCancelled = [.cancelledBeforeStart, .cancelling, .cancelled].contains(stage)
                    return "\(stage) → end → \(isCancelled ? "cancelled" : "finished") ended"
                })
    }

    @Test func suspendedRequestKeepsItsDriverWaiting() {
        var life = Stage.suspended.lifecycle
        let waiter = life.driverWaiter(sawDemand: true)
        #expect(waiter != nil && life.driverWaiter(sawDemand: true) === waiter)
        guard case .proceed(waiter: let released) = life.resume() else {
            Issue.record("there is a run to continue")
            return
        }
        #expect(released === waiter)
        #expect(life.driverWaiter(sawDemand: true) == nil)
    }

    /// A driver that has read its options before the result was asked for reads them again: the total timeout begins.
    @Test func firstAwaiterReleasesTheDriver() {
        var life = Stage.prepared.lifecycle
        let waiter = life.driverWaiter(sawDemand: false)
        guard case .join(waiter: let released?) = life.awaitResult(hasHandlers: false) else {
            Issue.record("the driver does not know that the result is asked for")
            return
        }
        #expect(released === waiter)
        #expect(life.driverWaiter(sawDemand: false) == nil)
        #expect(life.driverWaiter(sawDemand: true) != nil)
        guard case .join(waiter: nil) = life.awaitResult(hasHandlers: false) else {
            Issue.record("the driver knows")
            return
        }
    }

    @Test func cancellingReturnsTheDriverWithItsWaiter() {
        var life = Stage.suspended.lifecycle
        let waiter = life.driverWaiter(sawDemand: true)
        guard case .stop(let driver) = life.cancel(with: .cancelled) else {
            Issue.record("there is a run to stop")
            return
        }
        #expect(driver.waiter === waiter && waiter != nil)
        #expect(life.driverWaiter(sawDemand: true) == nil)
    }
}
