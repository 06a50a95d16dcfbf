public import Foundation

extension CurlewError: CustomStringConvertible, CustomDebugStringConvertible {
    /// The error in one line: code, reason, phase, URL, attempt, status and native code. It contains no credentials or
    /// query values.
    public var description: String {
        var text = code.rawValue
        if !reason.isEmpty { text += ": \(reason)" }
        text += " (phase \(phase.rawValue)"
        if let url { text += ", \(url.absoluteString)" }
        // `attempt` counts from zero; the text counts from one, and leaves the first attempt out.
        if attempt > 0 { text += ", attempt \(attempt + 1)" }
        if let responseCode { text += ", status \(responseCode)" }
        if let native { text += ", \(native)" }
        return text + ")"
    }

    /// The description, followed by every other known detail on lines below it: the underlying error, the names in the
    /// certificate, the error before a failed retry, the beginning of the body, the close frame of a WebSocket, the
    /// metrics and the suggestion. It contains no credentials or query values either.
    public var debugDescription: String {
        var lines = [description]
        if let underlying { lines.append("underlying: \(Self.typeAndText(of: underlying))") }
        switch detail {
        case .names(_, let names)?:
            let list = names.isEmpty ? "none" : names.joined(separator: " ")
            lines.append("names in the certificate: \(Redaction.excerpt(of: list, limit: 2_000))")
        case .retry(let original)?: lines.append("original error: \(Self.typeAndText(of: original))")
        default: break
        }
        if let responseBody { lines.append("body: \(Redaction.excerpt(of: responseBody, limit: 2_000))") }
        if let closeCode { lines.append("close code: \(closeCode.rawValue)") }
        if let closeReason { lines.append("close reason: \(Redaction.excerpt(of: closeReason, limit: 200))") }
        if downloadResumeData != nil { lines.append("resume data: yes") }
        lines.append("safe to retry: \(isSafeToRetry ? "yes" : "no")")
        if let metrics { lines.append("metrics: \(metrics)") }
        if let recoverySuggestion { lines.append("suggestion: \(recoverySuggestion)") }
        return lines.joined(separator: "\n    ")
    }

    private static func typeAndText(of error: any Error) -> String {
        let text = (error as? CurlewError)?.description ?? Redaction.excerpt(of: "\(error)", limit: 2_000)
        return "\(type(of: error)): \(text)"
    }
}

extension CurlewError: LocalizedError {
    /// A sentence for people, without credentials and query values.
    public var errorDescription: String? {
        if isExchangeFailure {
            return "The exchange failed with error: " + (reason.isEmpty ? code.rawValue : reason)
        }
        return reason.isEmpty ? "\(code.rawValue) (phase \(phase.rawValue))" : reason
    }
}
