internal import CurlewCore
internal import CurlewLocks
internal import Foundation

extension TaskDelegate {
    /// Why the response is no answer to a request that asked for no range; nil where it is one. A part must not pass for
    /// the whole, and a file is only whole where the server says so.
    func refusalOfPart(_ head: ResponseHead) -> CurlewError? {
        guard head.status == 206, !asksForRange else { return nil }
        switch UnaskedPart(head.headers) {
        case .whole: return nil
        case .unsaid where request.purpose != .file: return nil
        case .part, .unsaid:
            let said = head.headers.value(for: "Content-Range") ?? "no Content-Range"
            return CurlewError(
                .protocolViolation,
                phase: .receive,
                reason: "the server sent a part that was not asked for (206, \(said))"
            )
        }
    }

    // Looked up when there is such a response: nearly all requests get none.
    private var asksForRange: Bool {
        let sent = request.record.withLock { $0.history.requests.last }
        return sent?.fields.contains { ASCII.equalsIgnoringCase($0.name, "Range") } == true
            || request.context.defaultHeaders(for: url).headers.contains(name: "Range")
    }
}
