internal import CurlewCore

extension Connection {
    /// Continues an open WebSocket until it must wait; returns `nil` when the next steps are set.
    func converse(_ agreed: AgreedConversation, _ now: ContinuousClock.Instant) -> Need? {
        let conversation = conversation ?? WebSocketConversation(agreed)
        self.conversation = conversation
        while true {
            if let need = flush(now) { return need }
            switch conversation.next(&input) {
            case .write(let bytes):
                output = bytes
                outputStart = 0
            case .read: if let need = readMore(65_536, now) { return need }
            case .wait(let duration):
                replaceRest(with: [.wait(duration), .converse(agreed)])
                return nil
            case .waitFor(let gate):
                replaceRest(with: [.waitFor(gate), .converse(agreed)])
                return nil
            case .end(let steps):
                replaceRest(with: steps)
                return nil
            }
        }
    }
}
