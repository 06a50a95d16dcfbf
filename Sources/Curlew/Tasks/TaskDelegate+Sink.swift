internal import CurlewCore
internal import Foundation

// The events before the body, which all delegates handle in the same way.
extension TaskDelegate {
    func willStart(_ control: any TransferControl) { exchange.request.transferStarted(control, self) }

    func didReceive(head: ResponseHead) -> Disposition {
        guard !exchange.mayLeadOn(head) else {
            exchange.request.holdsBack(head)
            return .proceed
        }
        return answer(head)
    }

    func didSend(bodyBytes: Int64, of expected: Int64?) {
        exchange.sent(TransferCount(completed: bodyBytes, total: expected ?? -1))
    }

    private func answer(_ head: ResponseHead) -> Disposition {
        let waits = exchange.answerArrived(head)
        if head.status == 206, let refusal = exchange.refusal(ofPart: head) { return exchange.abort(refusal) }
        let disposition = begin(head)
        if case .proceed = disposition, waits { return .pause }
        return disposition
    }

    // MARK: Called by the run

    /// Delivers a response that was held back and is not followed, and waits for the user's decision about its head.
    func untilAnswered(within budget: TimeoutBudget) async throws(CurlewError) {
        guard let held = exchange.request.takeHeldBack() else {
            try await exchange.untilAnswered(within: budget)
            return
        }
        if case .abort(let error) = answer(held.head) { throw error }
        await untilReady()
        let answer = try await exchange.untilAnswered(within: budget)
        guard !held.body.isEmpty else { return }
        exchange.request.answered(answer)
        guard try !takes(held.body) else { return }
        // The answer has chosen a file for the body, which is being opened.
        await answer?.file?.untilOpened()
        _ = try takes(held.body)
    }

    /// Delivers the buffered body. Returns `false` if it has to be delivered again.
    private func takes(_ body: Data) throws(CurlewError) -> Bool {
        switch body.withUnsafeBytes({ didReceive(body: $0) }) {
        case .proceed: true
        case .pause: false
        case .abort(let error): throw error
        }
    }
}
