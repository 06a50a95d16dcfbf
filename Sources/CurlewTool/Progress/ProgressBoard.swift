/// Several bars below each other: what to write so that the old picture gives way to the new one.
struct ProgressBoard: Sendable {
    private let line: ProgressLine
    private var rowsOnScreen = 0

    init(line: ProgressLine) { self.line = line }

    /// The bytes that replace the previous picture. `height` bounds the rows: what has scrolled out of the
    /// screen could not be replaced.
    mutating func frame(_ snapshots: [TransferSnapshot], width: Int, height: Int) -> String {
        let rows = Self.visible(snapshots, rows: max(1, height - 1)).map(Self.safe)
        let longest = rows.map { Columns.count($0.name) }.max() ?? 0
        let nameWidth = min(max(8, longest), max(8, width / 3))
        var out = clear()
        for snapshot in rows {
            // One column stays free: a full line would wrap on some terminals.
            out += line.render(snapshot, width: width - 1, nameWidth: nameWidth) + "\n"
        }
        rowsOnScreen = rows.count
        return out
    }

    /// Servers choose names. What moves the cursor would tear the picture apart.
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

    /// Takes the picture away.
    mutating func clear() -> String {
        guard rowsOnScreen > 0 else { return "" }
        let rows = rowsOnScreen
        rowsOnScreen = 0
        return "\u{1B}[\(rows)A\r\u{1B}[J"
    }

    /// Running ones first, if there are more than fit.
    static func visible(_ snapshots: [TransferSnapshot], rows: Int) -> [TransferSnapshot] {
        guard snapshots.count > rows else { return snapshots }
        let running = snapshots.filter(\.isUnderWay)
        let others = snapshots.filter { !$0.isUnderWay }
        return Array((running + others).prefix(rows))
    }
}
