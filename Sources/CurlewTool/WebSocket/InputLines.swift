/// Cuts what comes from standard input into lines. A carriage return before the line feed belongs to the end of the line.
struct InputLines: Sendable {
    /// Most bytes of a line. Asked after each piece of input, so that a line can be longer by a piece.
    let limit: Int
    private var pending: [UInt8] = []

    init(limit: Int = 64 << 20) { self.limit = limit }

    /// Whether the line that has not ended is beyond the limit.
    var isLineTooLong: Bool { pending.count > limit }

    /// The lines that are complete now, without their ends.
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

    /// The last line, where no line feed ends it.
    mutating func finish() -> [UInt8]? {
        pending.isEmpty ? nil : exchange(&pending, with: [])
    }
}
