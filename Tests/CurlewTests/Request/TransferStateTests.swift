import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// The steps of one exchange's response. A request takes each of them under its lock.
@Suite("The state of a transfer", .timeLimit(.minutes(1)))
struct TransferStateTests {
    private func passage(_ state: inout TransferState, _ count: Int = 3) -> String {
        switch Data(count: count).withUnsafeBytes({ state.passage(of: $0) }) {
        case .take: "take"
        case .intoFile: "intoFile"
        case .keptBack: "keptBack"
        case .tooMuchToKeepBack: "tooMuchToKeepBack"
        case .wait: "wait"
        }
    }

    private func keep(_ state: inout TransferState, _ count: Int, limit: Int) -> Bool {
        Data(count: count).withUnsafeBytes { state.keep($0, of: nil, limit: limit) }
    }

    @Test func bytesOfTheAnswerAreTaken() {
        var state = TransferState()
        #expect(passage(&state) == "take")
    }

    @Test func bytesOfAHeldBackResponseAreKeptWithIt() {
        var state = TransferState()
        state.heldBack = HeldBackResponse(ResponseHead(status: 302))
        #expect(passage(&state, 5) == "keptBack")
        #expect(passage(&state, 1 << 20) == "tooMuchToKeepBack")
        #expect(state.heldBack?.body.count == 5)
        #expect(state.incoming == nil)
    }

    @Test func theBodyWaitsForTheAnswerAboutItsHead() {
        let request = Session(transport: MockTransport()).request("https://example.org/")
        let url = URL(filePath: "/")
        let file = BodyFile(for: request, LazyResponse(url: url, head: ResponseHead(status: 200)))
        for (decision, expected) in [(HeadAnswer.Decision.allow, "take"), (.file(file), "intoFile"), (.cancel, "wait")]
        {
            var state = TransferState()
            let answer = HeadAnswer()
            state.headAnswer = answer
            #expect(passage(&state) == "wait")
            #expect(!answer.allowsBody)
            answer.settle(decision) {}
            // Only the first decision counts.
            answer.settle(.cancel) {}
            #expect(passage(&state) == expected)
            #expect(passage(&state) == expected)
            #expect((state.file === file) == (expected == "intoFile"))
        }
    }

    @Test func aBodyInMemoryHasALimit() {
        var state = TransferState()
        state.download.total = -1
        #expect(keep(&state, 6, limit: 10))
        #expect(keep(&state, 4, limit: 10))
        #expect(!keep(&state, 1, limit: 10))
        #expect(state.download == TransferCount(completed: 10, total: -1))
        state.endsBody()
        #expect(state.body.data?.count == 10)
        #expect(state.incoming == nil)
    }

    @Test func aBodyThatIsSentAgainStandsStillUntilThereIsNews() {
        var state = TransferState()
        #expect(state.sent(TransferCount(completed: 5, total: 10))?.news == 5)
        // An authentication round in the same exchange sends the body again.
        #expect(state.sent(TransferCount(completed: 3, total: 10)) == nil)
        #expect(state.sent(TransferCount(completed: 8, total: 10))?.news == 3)
        _ = state.exchangeBegins()
        let again = state.sent(TransferCount(completed: 2, total: 10))
        #expect(again?.news == 2)
        #expect(again?.shown == TransferCount(completed: 8, total: 10))
    }

    @Test func anExchangeIsNotJudgedByAnEarlierOnesResponse() {
        var state = TransferState()
        state.heldBack = HeldBackResponse(ResponseHead(status: 401))
        state.headAnswer = HeadAnswer()
        state.wasAborted = true
        state.response = LazyResponse(url: URL(filePath: "/"), head: ResponseHead(status: 200))
        _ = state.exchangeBegins()
        #expect(state.heldBack == nil)
        #expect(state.headAnswer == nil)
        #expect(state.response == nil)
        #expect(!state.wasAborted)
    }
}
