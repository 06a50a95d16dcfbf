internal import Curlew
internal import Foundation
internal import FoundationNetworking

/// Runs `--repeat` and `--duration`: sends each request many times, and prints a summary instead of the responses.
struct RepeatRun: Sendable {
    let invocation: Invocation
    let context: ToolContext

    func run() async throws -> ExitStatus {
        var context = context
        context.quietness = invocation.output.quietness
        let destination = try OutputDestination(path: invocation.output.file, otherwise: context.output)
        let files = ItemFiles()
        let preparations = try invocation.urls.map {
            try Preparation(invocation, url: $0, files: files, context: context)
        }
        let debugLog = DebugLog(invocation, context: context)
        // All requests share one session, and with it the rate and the connections. They have the same options, and
        // `Invocation.checkRepetition` allows a stored session only for one URL. Only the credentials in a URL may
        // differ: a request without them needs a session that reads the netrc file. Those of the others precede it.
        let anonymous = preparations.first { $0.auth == nil } ?? preparations[0]
        let hosts = NamedHosts(follows: invocation.network.follows, urls: preparations.map(\.plan.url))
        let session = Session(
            configuration: try SessionConfiguration(anonymous),
            redirectHandler: hosts,
            eventMonitors: debugLog.monitors
        )
        let tally = RepeatTally(planned: invocation.repetitions.map { $0 * preparations.count })
        let sendings = preparations.map { Sending(preparation: $0, session: session) }
        let interruption = await Interruption()
        defer { withExtendedLifetime(interruption) {} }
        let clock = ContinuousClock()
        let began = clock.now
        let work = Task { [self] in await send(sendings, hosts, tally) }
        interruption.answer { work.cancel() }
        await work.value
        let elapsed = began.duration(to: clock.now)
        await debugLog.flush(session)
        let end = await tally.end
        // If not even the first request could be made, there is nothing to print.
        if end.obstacle == nil || end.summary.count > 0 {
            // The cookies are stored even if the reader of the summary has gone.
            let storing = Result { try SessionUpdate(preparation: preparations[0]).store() }
            try print(end.summary, elapsed: elapsed, to: destination, context: context)
            if let failure = end.firstFailure { context.report(failure) }
            try storing.get()
        }
        if work.isCancelled { throw ToolFailure.interrupted }
        if let obstacle = end.obstacle { throw obstacle }
        try preparations[0].refuseLateInput()
        // `--duration` was shorter than the first request.
        return end.summary.count == 0 ? .timeout : end.status
    }

    private func print(
        _ summary: RepeatSummary, elapsed: Duration, to destination: OutputDestination, context: ToolContext
    ) throws {
        let file = invocation.output.file
        guard invocation.output.quietness == 0 || file != nil else { return }
        let isTerminal = context.terminal.isOutput && file == nil
        let pretty = invocation.output.effectivePretty(
            isTerminal: isTerminal, noColorInEnvironment: context.terminal.noColor)
        let palette = Palette(isColored: pretty.hasColors, theme: invocation.output.look.theme)
        let text =
            switch invocation.summary ?? .text {
            case .text:
                RepeatReport(palette: palette, hasUnicode: context.terminal.hasUnicode).text(summary, elapsed: elapsed)
            case .json: json(summary, elapsed: elapsed, palette, isFormatted: pretty.isFormatted)
            }
        try destination.begin().write(text)
    }

    private func json(
        _ summary: RepeatSummary, elapsed: Duration, _ palette: Palette, isFormatted: Bool
    ) -> String {
        var printer = PrettyJSON(
            palette: palette, indent: invocation.output.look.format.jsonIndent, isFormatted: isFormatted)
        var text: [UInt8] = []
        printer.feed(JSONWriter.compact(summary.json(elapsed: elapsed)).utf8, into: &text)
        printer.finish(into: &text)
        return String(decoding: text, as: UTF8.self) + "\n"
    }

    /// Returns when every request has ended, when the time of the run is over, or after a cancellation or an obstacle.
    private func send(_ sendings: [Sending], _ hosts: NamedHosts, _ tally: RepeatTally) async {
        await withTaskGroup(of: Bool.self) { group in
            let workers = min(invocation.concurrency ?? 1, tally.planned ?? .max)
            for _ in 0..<workers {
                group.addTask {
                    while !Task.isCancelled, let number = await tally.next() {
                        await tally.record(await attempt(sendings[number % sendings.count], hosts))
                    }
                    return await tally.end.obstacle == nil
                }
            }
            if let duration = invocation.duration {
                group.addTask {
                    try? await Task.sleep(for: duration)
                    return false
                }
            }
            // After an obstacle, and at the end of the time, requests may still wait for the rate or for a slow server.
            // After the last request, the clock still runs.
            var ended = 0
            for await mayContinue in group {
                ended += 1
                if !mayContinue || ended == workers { group.cancelAll() }
            }
        }
    }

    private func attempt(_ sending: Sending, _ hosts: NamedHosts) async -> RepeatTally.Attempt {
        let clock = ContinuousClock()
        let began = clock.now
        do {
            let outcome = try await sending.perform { _ in }
            return completed(outcome, within: began.duration(to: clock.now), hosts)
        } catch {
            // The requests that an interruption, an obstacle or the end of the time has cut off have not failed.
            if Task.isCancelled { return .interrupted }
            guard case .request(let failure) = ToolFailure(error), !Self.isOfRequest(failure) else {
                return .impossible(error)
            }
            return .failed(failure)
        }
    }

    /// Whether the request or a file that it sends is at fault. Every further attempt would fail likewise.
    private static func isOfRequest(_ error: CurlewError) -> Bool {
        error.phase == .creation || error.code == .fileUnreadable
    }

    private func completed(
        _ outcome: Sending.Outcome, within elapsed: Duration, _ hosts: NamedHosts
    ) -> RepeatTally.Attempt {
        let (head, metrics) = (outcome.head, outcome.metrics)
        // The wait for `--rate` precedes the exchange and is no part of its latency. The dates of the metrics are those
        // of the system's clock, which may be set meanwhile.
        let measured = metrics.map { Duration.nanoseconds(Int64(min(max(0, $0.duration), 1e9) * 1e9)) }
        let isElsewhere = hosts.refuses(head, from: outcome.url)
        let status = ExitStatus.checking(head.status, follows: invocation.network.follows && !isElsewhere)
        return .complete(
            .complete(
                status: head.status,
                latency: min(measured ?? elapsed, elapsed),
                bytes: metrics?.bytesReceived ?? 0,
                isElsewhere: isElsewhere),
            invocation.network.checksStatus ? status : .success)
    }
}

/// Follows redirects (`--follow`) only to the hosts that the command line names, so that a repeated run sends no
/// requests to others.
struct NamedHosts: RedirectHandler {
    private let follows: Bool
    private let hosts: Set<String>

    init(follows: Bool, urls: [String]) {
        self.follows = follows
        hosts = Set(urls.map { Self.host(of: $0) })
    }

    func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse
    ) async -> URLRequest? {
        guard follows, let url = request.url, allows(url.absoluteString) else { return nil }
        return request
    }

    func allows(_ url: String) -> Bool { hosts.contains(Self.host(of: url)) }

    /// Whether a response is a redirect that is not followed because of its host.
    func refuses(_ head: ResponseHead, from url: URL?) -> Bool {
        guard follows, [301, 302, 303, 307, 308].contains(head.status),
            let location = head.headers.value(for: "Location"), let target = URL(string: location, relativeTo: url)
        else { return false }
        return !allows(target.absoluteString)
    }

    /// Returns the host, and the port unless it is the default: a redirect from http to https leads to the same host.
    private static func host(of url: String) -> String {
        String(URLParts(url).origin.drop { $0 != "/" })
    }
}

/// Hands out the requests of a repeated run, and collects their results.
actor RepeatTally {
    /// The result of a request, and its effect on the run.
    enum Attempt: Sendable {
        case complete(RepeatSummary.Result, ExitStatus)
        case failed(CurlewError)
        case interrupted
        /// The request could not be made. Another attempt would fail likewise, so the run ends.
        case impossible(any Error)
    }

    struct End: Sendable {
        var summary: RepeatSummary
        /// The exit status of the first request that failed.
        var status = ExitStatus.success
        var firstFailure: CurlewError?
        var obstacle: (any Error)?
    }

    /// The number of requests to send. `nil` if only the time limits it.
    nonisolated let planned: Int?
    private(set) var end: End
    private var begun = 0

    init(planned: Int?) {
        self.planned = planned
        end = End(summary: RepeatSummary(planned: planned))
    }

    /// Returns the number of the next request, from 0. `nil` if there is none.
    func next() -> Int? {
        guard planned.map({ begun < $0 }) ?? true, end.obstacle == nil else { return nil }
        begun += 1
        return begun - 1
    }

    func record(_ attempt: Attempt) {
        switch attempt {
        case .complete(let result, let status):
            end.summary.record(result)
            if end.status == .success { end.status = status }
        case .failed(let error):
            end.summary.record(.failed(code: error.code.rawValue))
            if end.firstFailure == nil { end.firstFailure = error }
            if end.status == .success { end.status = ExitStatus(error) }
        case .interrupted: end.summary.recordCutOff()
        case .impossible(let error):
            if end.obstacle == nil { end.obstacle = error }
        }
    }
}
