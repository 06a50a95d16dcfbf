internal import Curlew
internal import Foundation

/// The state of one download, for the progress display and for an interruption.
actor DownloadJob {
    nonisolated let plan: RequestPlan
    private(set) var path: String
    private var request: DownloadRequest?
    private var question: Request?
    private var started: Date?
    private var ended: Date?
    private var state: TransferSnapshot.State = .waiting
    private var meter = RateMeter()
    private var isInterrupted = false
    /// The message shown while the job waits for another attempt, and the end of the wait.
    private var wait: (text: String, end: Date)?

    init(plan: RequestPlan, path: String) {
        self.plan = plan
        self.path = path
    }

    /// Starts the job. Returns false if the command was interrupted before.
    func begin(_ request: DownloadRequest) -> Bool {
        guard !isInterrupted else { return false }
        self.request = request
        started = Date()
        state = .running
        return true
    }

    /// Registers the request that compares a partial file with the server's, so that an interruption cancels it.
    /// Returns false if the command was interrupted before.
    func asks(_ request: Request) -> Bool {
        question = request
        return !isInterrupted
    }

    func named(_ path: String) { self.path = path }

    func waits(_ text: String, until end: Date) { wait = (text, end) }

    func end(_ state: TransferSnapshot.State) {
        self.state = state
        ended = Date()
    }

    /// Cancels the transfer and keeps the bytes received for `--continue`.
    func interrupt() {
        isInterrupted = true
        question?.cancel()
        request?.cancel(producingResumeData: true)
    }

    /// Returns the progress, with the rate of the last seconds.
    func snapshot(at now: Date) -> TransferSnapshot {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        var snapshot = TransferSnapshot(name: name, state: state)
        guard let started, let request else { return snapshot }
        let progress = request.downloadProgress
        snapshot.completed = progress.completedUnitCount
        snapshot.total = progress.totalUnitCount > 0 ? progress.totalUnitCount : nil
        snapshot.elapsed = (ended ?? now).timeIntervalSince(started)
        if state == .running { meter.record(snapshot.completed, at: snapshot.elapsed) }
        snapshot.bytesPerSecond = meter.bytesPerSecond
        if state == .running, let wait, now < wait.end { snapshot.state = .retrying(wait.text) }
        return snapshot
    }
}

/// Shows the progress of the jobs until it is cancelled: bars on a terminal, lines elsewhere.
struct DownloadDisplay: Sendable {
    let jobs: [DownloadJob]
    let context: ToolContext

    func run() async {
        guard context.quietness == 0 else { return }
        if context.terminal.isError { await bars() } else { await lines() }
    }

    private func snapshots() async -> [TransferSnapshot] {
        var all: [TransferSnapshot] = []
        for job in jobs { all.append(await job.snapshot(at: Date())) }
        return all
    }

    private func bars() async {
        let line = ProgressLine(palette: context.errorPalette, hasUnicode: context.terminal.hasUnicode)
        var board = ProgressBoard(line: line)
        var isLast = false
        while true {
            // The window may have been resized since the last frame.
            let size = Terminal.size(of: context.errors.descriptor)
            try? context.errors.write(board.frame(await snapshots(), width: size.columns, height: size.rows))
            if isLast { return }
            isLast = (try? await Task.sleep(for: .milliseconds(100))) == nil
        }
    }

    private func lines() async {
        var plain = PlainProgress()
        var isLast = false
        while true {
            for line in plain.lines(for: await snapshots()) {
                try? context.errors.write(TerminalText.escapedLine(line) + "\n")
            }
            if isLast { return }
            isLast = (try? await Task.sleep(for: .milliseconds(250))) == nil
        }
    }
}
