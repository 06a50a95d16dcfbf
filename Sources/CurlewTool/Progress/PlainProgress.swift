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
            let rate = snapshot.elapsed > 0 ? Double(snapshot.completed) / snapshot.elapsed : 0
            return "\(snapshot.name): done, \(Amount.bytes(snapshot.completed)) in \(Amount.time(snapshot.elapsed)) "
                + "(\(Amount.rate(rate)))"
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
