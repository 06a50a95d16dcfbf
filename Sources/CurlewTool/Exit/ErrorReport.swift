internal import CurlewCore
internal import Foundation

/// The report on standard error when a request fails: the failure, its phase, and hints.
struct ErrorReport: Equatable, Sendable {
    var what: String
    /// The phase, the native error, and further reasons.
    var detail: String?
    var hints: [String] = []

    func text(palette: Palette) -> String {
        var lines = [palette(.error, "curlew: error:") + " " + TerminalText.escaped(what)]
        if let detail { lines.append("  " + palette(.comment, TerminalText.escaped(detail))) }
        for hint in hints { lines.append("  try: " + TerminalText.escaped(hint)) }
        return lines.joined(separator: "\n") + "\n"
    }

    static func usage(_ error: UsageError, palette: Palette) -> String {
        // The message may contain text from a server.
        let lines = TerminalText.escaped(error.message).split(separator: "\n", omittingEmptySubsequences: false).map(
            String.init)
        var out = [palette(.error, "curlew: error:") + " " + lines[0]] + lines.dropFirst().map { "  " + $0 }
        if let hint = error.hint { out.append("  " + TerminalText.escaped(hint)) }
        return out.joined(separator: "\n") + "\n"
    }
}

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

/// The command's messages for failures, looked up by the error code's name, with hints that name the command's options.
/// Further hints are the library's `recoverySuggestion`. A code without a row is reported with the error's own text.
enum FailureText {
    struct Row: Sendable {
        let code: String
        /// `%h` is replaced with the host and its port.
        let what: String
        let hints: [String]

        init(_ code: String, _ what: String, _ hints: String...) {
            self.code = code
            self.what = what
            self.hints = hints
        }
    }

    /// Returns the row for an error, or `nil` if its code has none.
    static func row(for error: CurlewError, in rows: [Row]) -> Row? {
        if error.isOfUnpinnedKey { return unpinnedKey }
        return rows.first { $0.code == error.code.rawValue }
    }

    /// A pin mismatch has the code of an untrusted certificate, although the certificate itself may be trusted.
    private static let unpinnedKey = Row("certificateUntrusted", "the key of %h is not the one of --pin")

    static let rows: [Row] = [
        Row("resolveFailed", "the host name of %h cannot be resolved"),
        Row("connectFailed", "no connection to %h"),
        Row("proxyFailed", "the proxy did not connect to %h", "--proxy=none uses no proxy"),
        Row("addressRefused", "the address of %h may not be connected to"),
        Row("tlsFailed", "no secure connection to %h"),
        Row(
            "certificateUntrusted", "the certificate of %h is not signed by a certificate authority trusted here",
            "--verify=FILE trusts another certificate authority; --verify=no accepts every certificate"
        ),
        Row("certificateExpired", "the certificate of %h is not valid now"),
        Row("certificateHostMismatch", "the certificate belongs to another host than %h"),
        Row("certificateRevoked", "the certificate of %h was revoked"),
        Row("clientCertificateRequired", "%h requires a client certificate", "--cert=FILE --cert-key=FILE"),
        Row("sendFailed", "the connection to %h broke while the request was being sent"),
        Row(
            "receiveFailed", "the connection to %h broke before the response was complete",
            "--retry=3 sends it again automatically"
        ),
        Row("truncated", "the response of %h is incomplete", "--continue resumes a download"),
        Row("protocolViolation", "the response of %h is not HTTP"),
        Row(
            "contentDecodingFailed", "the response's Content-Encoding is wrong",
            "'Accept-Encoding: identity' as an item"),
        Row("limitExceeded", "the response is larger than allowed", "--download writes bodies of any size to a file"),
        Row("queueTimedOut", "no free connection to %h in time", "a larger --timeout"),
        Row("connectTimedOut", "no connection to %h in time", "a larger --connect-timeout"),
        Row("firstByteTimedOut", "%h did not answer in time", "a larger --timeout"),
        Row("idleTimedOut", "%h stopped sending", "a larger --timeout, or --retry"),
        Row("totalTimedOut", "the request took too long", "a larger --timeout"),
        Row("tooManyRedirects", "too many redirects", "a larger --max-redirects, or -v --all to see where they lead"),
        Row("redirectRefused", "the redirect leads from https to http and is not followed"),
        Row("authenticationFailed", "the authentication at %h failed", "other values of --auth and --auth-type"),
        Row("destinationExists", "the file exists already", "--output=FILE replaces it, --continue resumes it"),
        Row("destinationMissing", "the folder for the file does not exist"),
        Row("diskFull", "the disk is full"),
        Row("moveFailed", "the file could not be put in place"),
        Row("fileUnreadable", "a file cannot be read"),
        Row("resumeRejected", "the download cannot be continued", "the same command without --continue starts over"),
        Row("notInCache", "there is no stored response for this request", "another --cache-policy asks the server"),
        Row("webSocketRefused", "the response of %h opens no WebSocket"),
        Row("webSocketClosed", "%h closed the WebSocket"),
        Row("unsupported", "the libcurl on this system cannot do that", "'curlew --version' shows what it supports"),
    ]

    /// The messages for a WebSocket that fails after it has opened.
    static let ofWebSockets: [Row] = [
        Row("webSocketClosed", "%h closed the WebSocket"),
        Row("receiveFailed", "the connection to %h broke"),
        Row("sendFailed", "the connection to %h broke"),
        Row("protocolViolation", "%h broke the rules of WebSockets"),
        Row("limitExceeded", "a message of %h is larger than allowed"),
        Row("idleTimedOut", "%h did not answer a ping in time", "a larger --timeout"),
    ]
}
