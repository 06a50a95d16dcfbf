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

/// Draws one transfer as one line.
struct ProgressLine: Sendable {
    let palette: Palette
    /// Whether the bar is drawn with characters beyond ASCII.
    let hasUnicode: Bool

    /// Returns a line of at most `width` columns, but at least 20:
    /// `name  42% ━━━━━━━━━━────────  1.2 MiB of 3.0 MiB  512.0 KiB/s  0:04`
    func render(_ snapshot: TransferSnapshot, width: Int, nameWidth: Int) -> String {
        let width = max(20, width)
        switch snapshot.state {
        case .failed(let text), .retrying(let text):
            let name = Self.fitted(snapshot.name, nameWidth)
            let room = max(0, width - nameWidth - 1)
            return name + " " + palette(.error, Self.shortened(text, room))
        case .waiting, .running, .done: break
        }
        let name = Self.fitted(snapshot.name, min(nameWidth, width / 3))
        let percent = snapshot.percent.map { Self.right("\($0)%", 4) } ?? " --%"
        // Details that do not fit are left out, the least important first.
        var details = details(snapshot)
        let minimumBar = 8
        func room() -> Int { width - Columns.count(name) - 1 - 4 - 2 - details.reduce(0) { $0 + $1.count + 2 } }
        while room() < minimumBar, !details.isEmpty { details.removeLast() }
        let bar = bar(snapshot, width: max(0, min(40, room())))
        return name + " " + percent + (bar.isEmpty ? "" : " " + bar) + details.map { "  " + $0 }.joined()
    }

    private func details(_ snapshot: TransferSnapshot) -> [String] {
        let done = Amount.bytes(snapshot.completed)
        let amount = snapshot.total.map { snapshot.state == .done ? done : "\(done) of \(Amount.bytes($0))" } ?? done
        var details = [Self.left(amount, snapshot.total == nil ? 10 : 22)]
        switch snapshot.state {
        case .done:
            details.append(Self.right(Amount.rate(snapshot.averageRate), 12))
            details.append("in " + Amount.time(snapshot.elapsed))
        case .running, .waiting:
            details.append(Self.right(snapshot.bytesPerSecond.map(Amount.rate) ?? "", 12))
            details.append(Self.right(snapshot.remainingSeconds.map(Amount.clock) ?? "", 7))
        case .failed, .retrying: break
        }
        return details
    }

    private func bar(_ snapshot: TransferSnapshot, width: Int) -> String {
        guard width > 0 else { return "" }
        let (full, rest) = hasUnicode ? ("━", "─") : ("=", "-")
        guard let fraction = snapshot.fraction else {
            // Without a total, a moving mark shows that the transfer is active. `elapsed` is negative if the clock was
            // set back.
            let position = Int(max(0, snapshot.elapsed) * 4) % max(1, width - 2)
            let tail = max(0, width - position - 3)
            return palette(.barRest, String(repeating: rest, count: position))
                + palette(.barDone, String(repeating: full, count: min(3, width)))
                + palette(.barRest, String(repeating: rest, count: tail))
        }
        let filled = min(width, Int(fraction * Double(width)))
        return palette(.barDone, String(repeating: full, count: filled))
            + palette(.barRest, String(repeating: rest, count: width - filled))
    }

    /// Returns exactly `width` columns. Long text is cut in the middle, because names differ mostly at their ends.
    static func fitted(_ text: String, _ width: Int) -> String { left(shortened(text, width), width) }

    static func shortened(_ text: String, _ width: Int) -> String {
        guard Columns.count(text) > width else { return text }
        guard width > 3 else { return String(Columns.prefix(text, width)) }
        let tail = (width - 1) / 2
        return Columns.prefix(text, width - 1 - tail) + "…" + Columns.suffix(text, tail)
    }

    private static func left(_ text: String, _ width: Int) -> String { Columns.padded(text, to: width) }

    private static func right(_ text: String, _ width: Int) -> String { Columns.padded(text, to: width, atEnd: false) }
}

/// Progress as plain lines, for logs: at most one per second and per tenth of the total, or one per ten seconds if the
/// total is unknown.
struct PlainProgress: Sendable {
    private struct Reported: Sendable {
        var tenth = -1
        var time = -Double.infinity
        var hasEnded = false
    }

    private var reported: [Int: Reported] = [:]

    /// Returns the lines that are due.
    mutating func lines(for snapshots: [TransferSnapshot]) -> [String] {
        snapshots.enumerated().compactMap { index, snapshot in line(for: snapshot, index: index) }
    }

    private mutating func line(for snapshot: TransferSnapshot, index: Int) -> String? {
        var last = reported[index] ?? Reported()
        defer { reported[index] = last }
        if last.hasEnded { return nil }
        switch snapshot.state {
        case .waiting:
            return nil
        case .done:
            last.hasEnded = true
            return "\(snapshot.name): done, \(Amount.bytes(snapshot.completed)) in \(Amount.time(snapshot.elapsed)) "
                + "(\(Amount.rate(snapshot.averageRate)))"
        // The failure is reported once, when all downloads have ended.
        case .failed:
            last.hasEnded = true
            return nil
        // The download announces a retry itself, at once.
        case .retrying:
            return nil
        case .running:
            let tenth = (snapshot.percent ?? 0) / 10
            let isDue =
                snapshot.total == nil
                ? snapshot.elapsed - last.time >= 10 : tenth > last.tenth && snapshot.elapsed - last.time >= 1
            guard isDue else { return nil }
            last.tenth = tenth
            last.time = snapshot.elapsed
            return Self.running(snapshot)
        }
    }

    private static func running(_ snapshot: TransferSnapshot) -> String {
        var text = "\(snapshot.name): "
        if let percent = snapshot.percent, let total = snapshot.total {
            text += "\(percent)%, \(Amount.bytes(snapshot.completed)) of \(Amount.bytes(total))"
        } else {
            text += Amount.bytes(snapshot.completed)
        }
        if let rate = snapshot.bytesPerSecond { text += ", \(Amount.rate(rate))" }
        if let seconds = snapshot.remainingSeconds { text += ", \(Amount.clock(seconds)) left" }
        return text
    }
}
