#if !FUZZING
internal import CurlewTesting

/// Makes new inputs from the seeds. The inputs follow from the random seed, so every run repeats them.
struct Mutator {
    private let seeds: [[UInt8]]
    private var random: SplitMix

    /// Texts that are significant to parsers.
    private static let pieces: [[UInt8]] = [
        "\"", "\\", ";", ",", "=", ":", "%", "\r", "\n", "\r\n\r\n", "\t", " ", "/", "..", "[", "]", "{", "0", "-1",
        "9223372036854775807", "9223372036854775808", "18446744073709551616", "\u{0}", "\u{FEFF}", "\u{301}", "é",
        "\u{1F426}", "\u{202E}", "%00", "UTF-8''", "data:", "id", "HTTP/1.1 200 \r\n",
    ].map { Array($0.utf8) }

    init(seeds: [[UInt8]], seed: UInt64) {
        self.seeds = seeds.isEmpty ? [[]] : seeds
        random = SplitMix(seed: seed)
    }

    mutating func next() -> [UInt8] {
        var bytes = seeds[below(seeds.count)]
        for _ in 0...below(4) { change(&bytes) }
        return Array(bytes.prefix(4096))
    }

    private mutating func change(_ bytes: inout [UInt8]) {
        let place = below(bytes.count + 1)
        let end = min(bytes.count, place + below(9))
        switch below(7) {
        case 0: bytes.removeSubrange(place..<end)
        case 1: bytes.insert(contentsOf: Self.pieces[below(Self.pieces.count)], at: place)
        case 2: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
        case 3: if place < bytes.count { bytes[place] ^= 1 << UInt8(below(8)) }
        case 4: bytes.insert(contentsOf: bytes[place..<end], at: place)
        case 5: bytes.removeSubrange(place...)
        default: bytes.replaceSubrange(place..., with: seeds[below(seeds.count)])
        }
    }

    private mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(max(1, limit))) }
}
#endif
