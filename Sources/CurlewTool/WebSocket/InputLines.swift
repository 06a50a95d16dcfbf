/// Splits standard input into lines. A carriage return before the line feed is part of the line ending.
struct InputLines: Sendable {
    /// The maximum length of a line in bytes. It is checked after each piece of input, so a line can exceed it by one
    /// piece.
    let limit: Int
    private var pending: [UInt8] = []

    init(limit: Int = 64 << 20) { self.limit = limit }

    /// Whether the unfinished line exceeds the limit.
    var isLineTooLong: Bool { pending.count > limit }

    /// Returns the lines that are complete, without their endings.
    mutating func feed(_ bytes: some Sequence<UInt8>) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                if pending.last == UInt8(ascii: "\r") { pending.removeLast() }
                lines.append(exchange(&pending, with: []))
            } else {
                pending.append(byte)
            }
        }
        return lines
    }

    /// Returns the last line, if no line feed ends it. `nil` if there is none.
    mutating func finish() -> [UInt8]? {
        pending.isEmpty ? nil : exchange(&pending, with: [])
    }
}
