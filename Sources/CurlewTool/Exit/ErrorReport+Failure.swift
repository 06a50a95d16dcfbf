internal import Curlew
internal import Foundation

extension ErrorReport {
    init(_ error: CurlewError, rows: [FailureText.Row] = FailureText.rows) {
        let row = FailureText.row(for: error, in: rows)
        let host = error.url.map { URLParts($0.absoluteString).authority } ?? "the server"
        let sentence = row?.what.split(separator: "%h", omittingEmptySubsequences: false).joined(separator: host)
        what = sentence ?? (error.reason.isEmpty ? error.code.rawValue : error.reason)
        var parts = ["phase: \(error.phase.rawValue)"]
        if let native = error.native { parts.append(native.description) }
        if sentence != nil, !error.reason.isEmpty { parts.append(error.reason) }
        if let reason = error.closeReason { parts.append(reason) }
        if error.attempt > 0 { parts.append("after \(error.attempt + 1) attempts") }
        detail = parts.joined(separator: "; ")
        hints = (error.recoverySuggestion.map { [$0] } ?? []) + (row?.hints ?? [])
    }
}

extension ExitStatus {
    init(_ error: CurlewError) {
        if error.isTimeout {
            self = .timeout
        } else if error.code == .tooManyRedirects {
            self = .tooManyRedirects
        } else {
            self = .failure
        }
    }
}
