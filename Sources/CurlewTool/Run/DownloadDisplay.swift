internal import Foundation

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
