/// The form of the summary of a repeated run.
enum SummaryFormat: String, CaseIterable, Sendable {
    case text, json
}

extension Invocation {
    /// The default of `--concurrency` for downloads. More at a time would only slow each other down.
    static let downloadsAtOnce = 8

    /// Refuses options that have no effect, or another one, on a run of many requests.
    func checkRepetition() throws(UsageError) {
        if summary != nil, !repeats { throw UsageError("--summary needs --repeat or --duration") }
        if concurrency != nil, !repeats, download == nil {
            throw UsageError(
                "--concurrency needs --repeat, --duration or --download",
                hint: "For instance: curlew --repeat 100 --concurrency 10 \(urls.first ?? "URL")")
        }
        // Each session file has cookies of its own, and so a session of the library, which counts its own requests.
        let repeatFlag = repetitions != nil ? "--repeat" : "--duration"
        if session != nil, urls.count > 1, repeats || network.requestRate != nil {
            let flag = repeats ? repeatFlag : "--rate"
            throw UsageError("\(flag) and --session work together with one URL, but there are \(urls.count)")
        }
        guard repeats else { return }
        if urls.contains(where: { ["ws", "wss"].contains(TargetURL.scheme(of: $0, default: network.defaultScheme)) }) {
            throw UsageError("\(repeatFlag): not for WebSockets")
        }
        let useless: [(String, Bool)] = [
            ("--download", download != nil), ("--har", output.harFile != nil), ("--timing", output.drawsTiming),
            ("--retry", network.retries > 0), ("--cache", cache.directory != nil), ("--chunked", body.isChunked),
            ("--print, --headers, --body, --meta and --verbose", output.parts != nil), ("--all", output.printsHops),
            ("--stream", output.isStreaming),
        ]
        if output.mode == .send, let (flags, _) = useless.first(where: \.1) {
            throw UsageError(
                "\(repeatFlag) and \(flags) cannot be combined",
                hint: "\(repeatFlag) sends a request many times, and prints one summary instead of the responses. "
                    + "An option of config.json is cancelled by --no- before its name: --no-retry.")
        }
    }
}
