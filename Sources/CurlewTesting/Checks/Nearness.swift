/// Finds texts that resemble another one, for errors that suggest what a test may have meant.
enum Nearness {
    /// Longer texts are compared by their first bytes only, because the distance takes quadratic time.
    private static let longest = 200

    /// Returns the `most` nearest candidates, nearest first; ties keep the order of `candidates`.
    static func nearest<Candidate>(
        _ most: Int = 3, of candidates: some Sequence<Candidate>, by distance: (Candidate) -> Int
    ) -> [Candidate] {
        let ranked = candidates.enumerated().map { (distance: distance($1), index: $0, candidate: $1) }
        return ranked.sorted { ($0.distance, $0.index) < ($1.distance, $1.index) }.prefix(most).map(\.candidate)
    }

    /// The number of bytes to insert, delete or replace to turn one text into the other.
    static func distance(_ one: some StringProtocol, _ other: some StringProtocol) -> Int {
        let (rows, columns) = (Array(one.utf8.prefix(longest)), Array(other.utf8.prefix(longest)))
        var above = Array(0...columns.count)
        for (row, byte) in rows.enumerated() {
            var line = [row + 1]
            for (column, second) in columns.enumerated() {
                line.append(min(above[column + 1] + 1, line[column] + 1, above[column] + (byte == second ? 0 : 1)))
            }
            above = line
        }
        return above[columns.count]
    }
}
