import CurlewCore
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import Testing

@testable import Curlew

/// The steps of one exchange's response.
@Suite("The state of an exchange", .timeLimit(.minutes(1)))
struct ExchangeStateTests {
    private func state() -> ExchangeState { ExchangeState(TaskIdentifier(rawValue: 1), .running) }

    private func passage(_ state: inout ExchangeState, _ count: Int = 3) -> String {
        switch Data(count: count).withUnsafeBytes({ state.route(of: $0) }) {
        case .deliver: "deliver"
        case .kept: "kept"
        case .wait: "wait"
        case .refuse(let error): "refuse \(error.code.rawValue)"
        }
    }

    /// Ends the exchange, unless something has to be decided first. Returns whether it has.
    private func isEnded(_ state: inout ExchangeState) -> Bool {
        guard state.endIfDecided(nil) != nil else { return state.stage == .over }
        return true
    }

    @Test func responseBytesAreDeliveredOrRefused() {
        var state = state()
        state.reception = .delegated(DataTaskDelegate(limit: 10))
        #expect(passage(&state) == "deliver")
        let error = CurlewError(.resumeRejected, phase: .receive, reason: "of no use")
        state.reception = .refused(error, by: DataTaskDelegate(limit: 10))
        #expect(passage(&state) == "refuse resumeRejected")
    }

    @Test func bytesOfAProvisionalResponseAreKeptWithIt() {
        var state = state()
        state.reception = .provisional(ProvisionalResponse(ResponseHead(status: 302), .redirect))
        #expect(passage(&state, 5) == "kept")
        #expect(passage(&state, 1 << 20) == "refuse limitExceeded")
        guard case .provisional(let response) = state.reception else {
            Issue.record("it is provisional")
            return
        }
        #expect(response.body.count == 5)
        #expect(state.response == nil && state.lastHead?.status == 302)
        #expect(!isEnded(&state))
    }

    @Test func bytesWaitForTheDecisionAboutTheHead() {
        var state = state()
        state.reception = .asked
        #expect(passage(&state) == "wait")
        #expect(!isEnded(&state))
    }

    @Test func onlyFirstDecisionBeforeEndOfExchangeIsUsed() async {
        let decision = HeadDecision()
        var made = 0
        decision.make { made += 1 }
        decision.make { made += 1 }
        #expect(made == 1)
        let late = HeadDecision()
        await late.expire()
        late.make { made += 1 }
        #expect(made == 1)
    }

    /// The end of the exchange waits for a decision that another thread is carrying out.
    @Test func exchangeEndWaitsForDecisionInProgress() async throws {
        let (decision, began, done) = (HeadDecision(), Gate(), Lock(false))
        let release = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            decision.make {
                began.open()
                release.wait()
                done.withLock { $0 = true }
            }
        }
        try await began.wait()
        let expiry = Task {
            await decision.expire()
            return done.withLock { $0 }
        }
        for _ in 0..<100 { await Task.yield() }
        release.signal()
        #expect(await expiry.value)
    }

    /// The run closes the delegate, the body stays until another attempt begins, and no call has an effect after the
    /// end.
    @Test func delegateIsClosedOnceAndItsBodyIsKept() throws {
        var state = state()
        let control = NoControl()
        _ = state.relay.attach(control)
        state.headArrived(LazyResponse(url: URL(string: "https://example.org/")!, head: ResponseHead(status: 200)))
        state.reception = .delegated(DataTaskDelegate(limit: 10))
        let ended = state.endIfDecided(["Checksum": "1"])
        let (ending, released) = try #require(ended)
        #expect(ending.delegate is DataTaskDelegate && ending.refusal == nil && !ending.wasAborted)
        #expect(released === control && state.relay.control == nil)
        #expect(state.stage == .over && state.trailers?["Checksum"] == "1")
        // The body is the delegate's until it is closed.
        _ = state.replaceBody(by: .data(Data("early".utf8)))
        #expect(state.body.contents == nil)
        _ = state.close(with: .data(Data("body".utf8)))
        #expect(state.body.contents == Data("body".utf8) && state.reportedTask == nil)
        #expect(passage(&state) == "refuse protocolViolation")
        let forgotten = state.forgetBody()
        #expect(forgotten.contents == Data("body".utf8) && state.body.contents == nil)
    }

    @Test func delegateThatFailedToBeginIsClosedWithItsError() throws {
        var state = state()
        state.wasAborted = true
        state.reception = .refused(.bodyTooLarge(1), by: DataTaskDelegate(limit: 1))
        let ended = state.endIfDecided(nil)
        let (ending, _) = try #require(ended)
        #expect(ending.delegate != nil && ending.refusal?.code == .limitExceeded && ending.wasAborted)
    }

    /// A delegate that a decision has just chosen may not have begun yet.
    @Test func exchangeWithPendingDecisionIsNotEnded() {
        var state = state()
        state.decision = HeadDecision()
        state.reception = .delegated(DataTaskDelegate(limit: 10))
        #expect(!isEnded(&state))
        let (ending, _) = state.end(nil)
        #expect(ending.delegate != nil && state.stage == .over)
    }

    @Test func aBodyWithoutAHeadIsRefused() {
        var state = state()
        #expect(passage(&state) == "refuse protocolViolation")
    }

    @Test func resentBodyReportsProgressOnlyBeyondTheLastCount() {
        var state = state()
        #expect(state.sent(TransferCount(completed: 5, total: 10))?.added == 5)
        // An authentication round in the same exchange sends the body again.
        #expect(state.sent(TransferCount(completed: 3, total: 10)) == nil)
        #expect(state.sent(TransferCount(completed: 8, total: 10))?.added == 3)
        var next = ExchangeState(TaskIdentifier(rawValue: 2), .running, uploaded: state.upload)
        let again = next.sent(TransferCount(completed: 2, total: 10))
        #expect(again?.added == 2)
        #expect(again?.shown == TransferCount(completed: 8, total: 10))
    }
}
