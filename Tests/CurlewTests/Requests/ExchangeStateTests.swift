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

    @Test func bytesOfTheAnswerAreDelivered() {
        var state = state()
        state.delivery = .delegated(DataTaskDelegate(limit: 10))
        #expect(passage(&state) == "deliver")
        state.refusal = CurlewError(.resumeRejected, phase: .receive, reason: "of no use")
        #expect(passage(&state) == "refuse resumeRejected")
    }

    @Test func bytesOfAProvisionalResponseAreKeptWithIt() {
        var state = state()
        state.delivery = .provisional(ProvisionalResponse(ResponseHead(status: 302), .redirect))
        #expect(passage(&state, 5) == "kept")
        #expect(passage(&state, 1 << 20) == "refuse limitExceeded")
        guard case .provisional(let response) = state.delivery else {
            Issue.record("it is provisional")
            return
        }
        #expect(response.body.count == 5)
        #expect(state.response == nil && state.lastHead?.status == 302 && state.isUndecided)
    }

    @Test func bytesWaitWhileTheUserIsAsked() {
        var state = state()
        state.delivery = .asked
        #expect(passage(&state) == "wait" && state.isUndecided)
    }

    @Test func onlyTheFirstDecisionCountsAndNoneAfterTheEndOfTheExchange() async {
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
    @Test func aDecisionThatIsBeingCarriedOutDelaysTheEnd() async throws {
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

    @Test func aBodyWithoutAHeadIsRefused() {
        var state = state()
        #expect(passage(&state) == "refuse protocolViolation")
    }

    @Test func aBodyThatIsSentAgainStandsStillUntilThereIsNews() {
        var state = state()
        #expect(state.sent(TransferCount(completed: 5, total: 10))?.news == 5)
        // An authentication round in the same exchange sends the body again.
        #expect(state.sent(TransferCount(completed: 3, total: 10)) == nil)
        #expect(state.sent(TransferCount(completed: 8, total: 10))?.news == 3)
        var next = ExchangeState(TaskIdentifier(rawValue: 2), .running, uploaded: state.upload)
        let again = next.sent(TransferCount(completed: 2, total: 10))
        #expect(again?.news == 2)
        #expect(again?.shown == TransferCount(completed: 8, total: 10))
    }
}
