import CurlewTesting
import Foundation

/// Makes random texts, most of which are nearly JSON. The texts follow from the seed.
struct JSONFuzz {
    private var random: SplitMix

    init(seed: UInt64) { random = SplitMix(seed: seed) }

    private mutating func next() -> UInt64 { random.next() }
    private mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
    private mutating func one<T>(of values: [T]) -> T { values[below(values.count)] }

    mutating func text() -> Data {
        var bytes = value(depth: 0)
        if below(3) == 0 { for _ in 0...below(3) { mutate(&bytes) } }
        guard below(20) == 0 else { return Data(bytes) }
        let encodings: [String.Encoding] = [.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32LittleEndian]
        return String(decoding: bytes, as: UTF8.self).data(using: one(of: encodings)) ?? Data(bytes)
    }

    private mutating func mutate(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        let at = below(bytes.count)
        switch below(5) {
        case 0: bytes[at] = UInt8(below(256))
        case 1: bytes[at] = one(of: Array("[]{},:\"\\ue+-.0123456789tfn \n".utf8))
        case 2: bytes.insert(one(of: Array("[]{},:\"\\ue+-.05tfn \n".utf8)), at: at)
        case 3: bytes.remove(at: at)
        case _: bytes.removeSubrange(at...)
        }
    }

    private mutating func space() -> [UInt8] {
        below(6) == 0 ? Array(one(of: [" ", "\n", "\t", "\r\n", "  "]).utf8) : []
    }

    private mutating func value(depth: Int) -> [UInt8] {
        let content: [UInt8]
        switch below(depth > 4 ? 7 : 11) {
        case 0: content = Array(one(of: ["null", "true", "false"]).utf8)
        case 1...3: content = number()
        case 4...6: content = string()
        case 7, 8: content = list(0x5b, 0x5d, (0..<below(5)).map { _ in value(depth: depth + 1) })
        case _:
            let count = below(40) == 0 ? below(80) : below(7)
            content = list(0x7b, 0x7d, (0..<count).map { _ in key() + [0x3a] + value(depth: depth + 1) })
        }
        return space() + content + space()
    }

    private func list(_ open: UInt8, _ close: UInt8, _ items: [[UInt8]]) -> [UInt8] {
        [open] + items.joined(separator: [0x2c]) + [close]
    }

    private mutating func key() -> [UInt8] {
        if below(8) == 0 { return string() }
        let names = [
            "a", "b", "c", "d", "e", "f", "g", "h", "i", "_0", "name", "count", "user_name", "userName", "created_at",
            "id",
            "super", "k\(below(60))",
        ]
        return Array("\"\(one(of: names))\"".utf8)
    }

    private mutating func number() -> [UInt8] {
        var text = one(of: ["", "", "-"])
        func digits(_ count: Int) -> String { (0..<count).map { _ in "\(below(10))" }.joined() }
        text += one(of: [
            "0", "\(below(10))", "\(1 + below(9))" + digits(below(20)), "\(below(100_000))", digits(1 + below(40)),
        ])
        if below(2) == 0 { text += "." + digits(1 + below(one(of: [4, 20]))) }
        if below(4) == 0 { text += one(of: ["e", "E", "e+", "e-"]) + one(of: [digits(1), digits(1 + below(3))]) }
        return Array(text.utf8)
    }

    private mutating func string() -> [UInt8] {
        var bytes: [UInt8] = [0x22]
        for _ in 0..<below(one(of: [4, 12, 40])) {
            switch below(24) {
            case 0:
                bytes += Array(
                    one(of: ["\\n", "\\\"", "\\\\", "\\/", "\\u0041", "\\u00e9", "\\ud83d\\ude00", "\\b"]).utf8)
            case 1: bytes += Array(one(of: ["ä", "€", "😀", "é", "e\u{301}"]).utf8)
            case 2 where below(6) == 0: bytes += one(of: [[0x80], [0xc3], [0xed, 0xa0, 0x80], [0x01], [0x5c, 0x78]])
            case _: bytes.append(UInt8(0x23 + below(0x37)))
            }
        }
        let words = ["2020-05-06T07:08:09Z", "admin", "inf", "-inf", "aGVsbG8=", "http://a.b/c?d", "12"]
        return below(8) == 0 ? Array("\"\(one(of: words))\"".utf8) : bytes + [0x22]
    }
}
