/// The phases of one exchange, in seconds from its start.
struct TimingPhases: Sendable, Equatable {
    struct Phase: Sendable, Equatable {
        let name: String
        let start: Double
        let end: Double

        var duration: Double { end - start }
    }

    let phases: [Phase]
    let total: Double

    /// Marks that are missing (a re-used connection has no lookup) give no phase; marks that run backwards,
    /// as clocks sometimes do, give an empty one. What is local has not come over a network.
    init(
        lookupEnded: Double?,
        connected: Double?,
        secured: Double?,
        sent: Double?,
        firstByte: Double?,
        ended: Double,
        isReused: Bool = false,
        isLocal: Bool = false
    ) {
        var phases: [Phase] = []
        var now = 0.0
        func add(_ name: String, _ end: Double?) {
            guard let end else { return }
            phases.append(Phase(name: name, start: now, end: max(now, end)))
            now = max(now, end)
        }
        if !isReused {
            add("lookup", lookupEnded)
            add("connect", connected)
            add("tls", secured)
        }
        add("send", sent)
        add("wait", firstByte)
        add(isLocal ? "cache" : "receive", ended)
        self.phases = phases
        total = max(now, ended)
    }
}

/// Draws the phases as bars on one time line.
struct TimingChart: Sendable {
    let palette: Palette
    let hasUnicode: Bool

    /// `cache` is what a cache had to do with it.
    func render(_ timing: TimingPhases, width: Int, cache: String? = nil) -> String {
        let barWidth = max(10, min(60, width - 24))
        let (full, rest) = hasUnicode ? ("█", "·") : ("#", ".")
        let scale = timing.total > 0 ? Double(barWidth) / timing.total : 0
        var lines: [String] = []
        for phase in timing.phases {
            let start = min(barWidth - 1, Int(phase.start * scale))
            // Every phase is seen, however short.
            let length = max(1, min(barWidth - start, Int((phase.duration * scale).rounded())))
            let bar =
                palette(.barRest, String(repeating: rest, count: start))
                + palette(.barDone, String(repeating: full, count: length))
                + palette(.barRest, String(repeating: rest, count: barWidth - start - length))
            lines.append("  \(padded(phase.name, 8)) \(bar) \(Amount.time(phase.duration))")
        }
        lines.append("  \(padded("total", 8)) \(String(repeating: " ", count: barWidth)) \(Amount.time(timing.total))")
        if let cache { lines.append("  \(cache)") }
        return lines.joined(separator: "\n") + "\n"
    }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
