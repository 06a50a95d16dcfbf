import CurlewTesting
import Foundation

/// Makes random values to encode. The values follow from the seed.
struct JSONTreeFuzz {
    private var random: SplitMix

    init(seed: UInt64) { random = SplitMix(seed: seed) }

    private mutating func next() -> UInt64 { random.next() }
    private mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
    private mutating func one<T>(of values: [T]) -> T { values[below(values.count)] }
    private mutating func some<T>(_ limit: Int, _ make: (inout JSONTreeFuzz) -> T) -> [T] {
        (0..<below(limit)).map { _ in make(&self) }
    }

    mutating func tree(depth: Int = 0) -> JSONTree {
        switch below(depth > 4 ? 20 : 36) {
        case 0: return .null
        case 1: return .bool(below(2) == 0)
        case 2...5: return .string(string())
        case 6: return .int(Int(truncatingIfNeeded: Int64(bitPattern: next()) >> Int64(below(64))))
        case 7: return below(2) == 0 ? .small(Int8(truncatingIfNeeded: next())) : .unsigned(next() >> UInt64(below(64)))
        case 8...10: return .double(double())
        case 11: return .float(Float(double()))
        case 12: return date()
        case 13: return .data(Data(some(20) { UInt8(truncatingIfNeeded: $0.next()) }))
        case 14: return below(2) == 0 ? .path : .optional(below(3) == 0 ? nil : double())
        case 15: return list()
        case 16:
            return .url(
                URL(string: one(of: ["http://a.b/c?d=e#f", "x", "file:///tmp/%20"])) ?? URL(fileURLWithPath: "/"))
        case 17: return .decimal(Decimal(sign: .plus, exponent: below(20) - 10, significand: Decimal(below(1_000_000))))
        case 18: return one(of: [.nothing, .wide(.max), .wide(-1), .named([.someName: 1]), .typed(.a(1)), .typed(.c)])
        case 19: return below(40) == 0 ? .failing : .typed(.b(name: string(), count: below(2)))
        case 20...22: return .array(some(6) { $0.tree(depth: depth + 1) })
        case 23...26: return .object(members(depth, below(30) == 0 ? 90 : 7))
        case 27: return .single(tree(depth: depth + 1))
        case 28: return .twice(tree(depth: depth + 1), tree(depth: depth + 1))
        case 29: return .nestedArray(some(4) { $0.tree(depth: depth + 1) })
        case 30: return .nested(some(4) { fuzz in (fuzz.key(), fuzz.members(depth + 1, 5)) })
        case 31: return .superclass(members(depth, 3), tree(depth: depth + 1))
        case 32: return .single(list())
        case 33: return .numbered(Dictionary(some(4) { ($0.below(50), $0.tree(depth: depth + 1)) }) { $1 })
        case _:
            let members = members(depth, below(20) == 0 ? 90 : 6)
            return .dictionary(Dictionary(members) { $1 })
        }
    }

    private mutating func members(_ depth: Int, _ limit: Int) -> [(String, JSONTree)] {
        some(limit) { ($0.key(), $0.tree(depth: depth + 1 + limit / 30)) }
    }

    private mutating func list() -> JSONTree {
        switch below(6) {
        case 0: .strings(some(5) { $0.string() })
        case 1: .ints(some(5) { Int(truncatingIfNeeded: $0.next() >> 40) })
        case 2: .doubles(some(5) { $0.double() })
        case 3: .floats(some(5) { Float($0.double()) })
        case 4: .bytes(some(9) { UInt8(truncatingIfNeeded: $0.next()) })
        case _: .bools(some(4) { $0.below(2) == 0 })
        }
    }

    private mutating func key() -> String {
        if below(8) == 0 { return string() }
        return one(of: [
            "a", "b", "c", "name", "userName", "URLString", "createdAtTime", "id", "k\(below(200))", "x\(below(1000))y",
            "a key that is longer than sixteen \(below(99))", "é", "e\u{301}", "K", "\u{212a}", "a/b", "", "ÄrgerName",
        ])
    }

    private mutating func double() -> Double {
        switch below(12) {
        case 0:
            one(of: [
                0, -0.0, 1, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 1e16, 1e15, 9_007_199_254_740_992, 0.1,
                1e-5,
            ])
        case 1 where below(12) == 0: one(of: [.infinity, -.infinity, .nan])
        case 2: Double(bitPattern: next()).isFinite ? Double(below(100_000)) * 1e-3 : 2
        case 3...5: Double(below(1_000_000)) / one(of: [1, 10, 100, 1000, 7])
        case _:
            { $0.isFinite ? $0 : 1 }(Double(bitPattern: next()))
        }
    }

    private mutating func date() -> JSONTree {
        let seconds = below(3) == 0 ? Double(below(4_000_000_000)) : double()
        // Foundation's ISO 8601 style crashes on dates that no calendar has.
        return .date(Date(timeIntervalSince1970: abs(seconds) < 1e11 ? seconds : 12.5))
    }

    private mutating func string() -> String {
        var text = ""
        for _ in 0..<below(one(of: [4, 12, 40])) {
            switch below(24) {
            case 0:
                text += one(of: [
                    "\n", "\"", "\\", "/", "\u{1}", "\u{1f}", "\u{8}", "\t", "\r", "\u{c}", "\u{7f}", "\0",
                ])
            case 1: text += one(of: ["ä", "€", "😀", "é", "e\u{301}", "\u{2028}", "</script>"])
            case _: text.unicodeScalars.append(Unicode.Scalar(UInt8(0x20 + below(0x5f))))
            }
        }
        return text
    }
}
