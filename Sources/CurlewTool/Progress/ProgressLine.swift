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
            details.append(Self.right(Amount.rate(Self.average(snapshot)), 12))
            details.append("in " + Amount.time(snapshot.elapsed))
        case .running, .waiting:
            details.append(Self.right(snapshot.bytesPerSecond.map(Amount.rate) ?? "", 12))
            details.append(Self.right(snapshot.remainingSeconds.map(Amount.clock) ?? "", 7))
        case .failed, .retrying: break
        }
        return details
    }

    private static func average(_ snapshot: TransferSnapshot) -> Double {
        snapshot.elapsed > 0 ? Double(snapshot.completed) / snapshot.elapsed : 0
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
