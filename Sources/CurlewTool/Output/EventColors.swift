/// Colours the field names and comments of an event stream, without changing its text.
struct EventColors: Sendable {
    private enum Place: Sendable { case lineStart, name, rest, comment }

    private let palette: Palette
    private var place: Place = .lineStart

    init(palette: Palette) { self.palette = palette }

    mutating func feed(_ bytes: some Sequence<UInt8>, into out: inout [UInt8]) {
        for byte in bytes {
            if byte == 0x0A {
                endStyle(into: &out)
                out.append(byte)
                place = .lineStart
                continue
            }
            switch place {
            case .lineStart:
                place = byte == UInt8(ascii: ":") ? .comment : .name
                out += palette.start(place == .comment ? .comment : .fieldName).utf8
            case .name where byte == UInt8(ascii: ":"):
                endStyle(into: &out)
                place = .rest
            case .name, .rest, .comment: break
            }
            out.append(byte)
        }
    }

    mutating func finish(into out: inout [UInt8]) { endStyle(into: &out) }

    private func endStyle(into out: inout [UInt8]) {
        switch place {
        case .name: out += palette.end(.fieldName).utf8
        case .comment: out += palette.end(.comment).utf8
        case .lineStart, .rest: break
        }
    }
}
