/// Prepares one body for the output: decodes it, hides binary data, escapes control characters, and formats the text.
struct BodyFormatter: Sendable {
    /// The requirements of the output.
    struct Target: Equatable, Sendable {
        var isTerminal: Bool
        var pretty: Pretty
        var look = Look()
    }

    private let target: Target
    private var decoder: CharsetDecoder?
    private var shaper: (any BodyShaper)?
    private var safety: TerminalText?
    private var isHidden = false
    /// The last byte written. It tells if the last line has ended.
    private(set) var lastByte: UInt8?

    init(kind: MediaKind, target: Target) {
        self.target = target
        guard target.isTerminal || target.pretty != .none else { return }
        decoder = kind.charset.flatMap(CharsetDecoder.init(charset:))
        if target.isTerminal { safety = TerminalText() }
        shaper = Shaping(pretty: target.pretty, look: target.look).shaper(for: kind.format)
    }

    mutating func feed(_ bytes: some Collection<UInt8>, into out: inout [UInt8]) {
        if isHidden { return }
        let start = out.count
        defer { lastByte = out.count > start ? out.last : lastByte }
        guard safety != nil || shaper != nil || decoder != nil else {
            out += bytes
            return
        }
        if let text = decoder?.decode(bytes) { show(text, into: &out) } else { show(bytes, into: &out) }
    }

    /// Ends the body. On a terminal, also ends its last line.
    mutating func finish(into out: inout [UInt8]) {
        let start = out.count
        if !isHidden, let rest = decoder?.finish(), !rest.isEmpty { show(rest, into: &out) }
        if !isHidden { finishText(into: &out) }
        let last = out.count > start ? out.last : lastByte
        if target.isTerminal, let last, last != 0x0A { out.append(0x0A) }
        lastByte = out.count > start ? out.last : lastByte
    }

    /// Writes the bytes held back, and ends an open colour, which would otherwise continue after the body.
    private mutating func finishText(into out: inout [UInt8]) {
        if safety != nil {
            // The filter finishes first: the text that it held back precedes the end of the shaper's last token.
            var held: [UInt8] = []
            safety?.finish(into: &held)
            emit(held, into: &out)
        }
        shaper?.finish(into: &out)
    }

    /// Shows decoded bytes. Binary data is detected only after decoding, because in UTF-16 every other byte of English
    /// text is a NUL.
    private mutating func show(_ bytes: some Collection<UInt8>, into out: inout [UInt8]) {
        if target.isTerminal, BinaryNotice.isBinary(bytes) {
            isHidden = true
            let start = out.count
            finishText(into: &out)
            if let last = out.count > start ? out.last : lastByte, last != 0x0A { out.append(0x0A) }
            out += BinaryNotice.response.utf8
            return
        }
        guard safety != nil else { return emit(bytes, into: &out) }
        var safe: [UInt8] = []
        safety?.feed(bytes, into: &safe)
        emit(safe, into: &out)
    }

    private mutating func emit(_ bytes: some Sequence<UInt8>, into out: inout [UInt8]) {
        if shaper != nil { shaper?.feed(bytes, into: &out) } else { out += bytes }
    }
}
