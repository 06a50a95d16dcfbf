internal import Foundation

extension CurlewError: CustomStringConvertible, CustomDebugStringConvertible {
    /// One line: code, reason, phase, URL, attempt, status and native code, without credentials and query values.
    public var description: String {
        var text = code.rawValue
        if !reason.isEmpty { text += ": \(reason)" }
        text += " (phase \(phase.rawValue)"
        if let url { text += ", \(url.absoluteString)" }
        // The property counts from zero, people from one. The first try needs no number.
        if attempt > 0 { text += ", attempt \(attempt + 1)" }
        if let responseCode { text += ", status \(responseCode)" }
        if let native { text += ", \(native)" }
        return text + ")"
    }

    /// The description, and below it what else is known: the error inside, the beginning of the body, how a WebSocket was
    /// closed, the metrics, and what to try. Without credentials and query values, too.
    public var debugDescription: String {
        var lines = [description]
        if let underlying {
            let text = (underlying as? CurlewError)?.description ?? Redaction.excerpt(of: "\(underlying)", limit: 2_000)
            lines.append("underlying: \(type(of: underlying)): \(text)")
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
}
