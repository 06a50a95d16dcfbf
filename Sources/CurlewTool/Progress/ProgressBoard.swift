/// Draws several progress bars below each other, in place of the previous frame.
struct ProgressBoard: Sendable {
    private let line: ProgressLine
    private var rowsOnScreen = 0

    init(line: ProgressLine) { self.line = line }

    /// Returns the text that replaces the previous frame. `height` limits the rows, because lines that have scrolled
    /// off the screen cannot be replaced.
    mutating func frame(_ snapshots: [TransferSnapshot], width: Int, height: Int) -> String {
        let rows = Self.visible(snapshots, rows: max(1, height - 1)).map(Self.safe)
        let longest = rows.map { Columns.count($0.name) }.max() ?? 0
        let nameWidth = min(max(8, longest), max(8, width / 3))
        var out = clear()
        for snapshot in rows {
            // One column remains free, because a full line wraps on some terminals.
            out += line.render(snapshot, width: width - 1, nameWidth: nameWidth) + "\n"
        }
        rowsOnScreen = rows.count
        return out
    }

    /// Escapes names and messages. They may contain a server's text, and a cursor movement would break the frame.
    private static func safe(_ snapshot: TransferSnapshot) -> TransferSnapshot {
        var snapshot = snapshot
        snapshot.name = TerminalText.escapedLine(snapshot.name)
        switch snapshot.state {
        case .failed(let text): snapshot.state = .failed(TerminalText.escapedLine(text))
        case .retrying(let text): snapshot.state = .retrying(TerminalText.escapedLine(text))
        case .waiting, .running, .done: break
        }
        return snapshot
    }

    /// Returns the text that erases the frame.
    mutating func clear() -> String {
        guard rowsOnScreen > 0 else { return "" }
        let rows = rowsOnScreen
        rowsOnScreen = 0
        return "\u{1B}[\(rows)A\r\u{1B}[J"
    }

    /// Returns the snapshots that fit, running ones first.
    static func visible(_ snapshots: [TransferSnapshot], rows: Int) -> [TransferSnapshot] {
        guard snapshots.count > rows else { return snapshots }
        let running = snapshots.filter(\.isUnderWay)
        let others = snapshots.filter { !$0.isUnderWay }
        return Array((running + others).prefix(rows))
    }
}
