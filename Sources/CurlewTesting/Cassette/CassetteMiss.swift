internal import CurlewCore

/// The failure to find an exchange for a request in a cassette.
struct CassetteMiss {
    let asked: ReplayTransport.Question
    let left: [Cassette.Request]
    let used: [Cassette.Request]
    let matching: ReplayTransport.Matching

    /// The error, which names the request and the nearest recorded ones.
    var error: CurlewError {
        let reason = "the cassette has no exchange left for \(asked.request.method) \(asked.request.url)\(clause)"
        return CurlewError(.unsupported, phase: .waiting, reason: reason)
    }

    private var clause: String {
        let candidates = left.map { (request: $0, isUsed: false) } + used.map { (request: $0, isUsed: true) }
        guard !candidates.isEmpty else { return "; it is empty" }
        // One differing part weighs more than any difference in characters.
        let nearest = Nearness.nearest(of: candidates) { candidate in
            let differences = asked.differences(from: candidate.request, matching).count
            return differences * 1_000 + Nearness.distance(candidate.request.url, asked.request.url)
        }
        let texts = nearest.map { candidate in
            "\(candidate.request.method) \(candidate.request.url) (\(verdict(candidate.request, candidate.isUsed)))"
        }
        return "; nearest: " + texts.joined(separator: ", ")
    }

    private func verdict(_ request: Cassette.Request, _ isUsed: Bool) -> String {
        let differences = asked.differences(from: request, matching).map(\.name)
        guard let last = differences.last else { return "used already" }
        let parts = differences.dropLast().joined(separator: ", ")
        return parts.isEmpty ? "\(last) differs" : "\(parts) and \(last) differ"
    }
}
