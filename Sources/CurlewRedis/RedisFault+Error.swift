internal import CurlewCore

extension RedisFault {
    /// The error that `ping()` throws.
    var error: CurlewError {
        switch self {
        case .unreachable(let text): CurlewError(.connectFailed, phase: .connect, reason: "The Redis server: \(text)")
        case .timedOut:
            CurlewError(.connectTimedOut, phase: .connect, reason: "The Redis server did not answer in time")
        case .garbage(let text): CurlewError(.protocolViolation, phase: .receive, reason: "The Redis server: \(text)")
        case .rejected(let text):
            CurlewError(.authenticationFailed, phase: .connect, reason: "The Redis server: \(text)")
        case .suspended:
            CurlewError(.connectFailed, phase: .connect, reason: "The Redis server has not answered a short while ago")
        case .unusable(let text):
            CurlewError(text.contains("TLS") ? .unsupported : .invalidURL, phase: .creation, reason: text)
        }
    }
}
