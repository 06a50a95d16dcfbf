/// One body on its way to the output: checked for binary data, decoded, formatted, made safe.
struct BodyFormatter: Sendable {
    /// How the output wants it.
    struct Target: Equatable, Sendable {
        var isTerminal: Bool
        var pretty: Pretty
    }

    private let target: Target
    private let decoder: SingleByteDecoder?
    private var json: PrettyJSON?
    private var events: EventColors?
    private var safety: TerminalText?
    private var isHidden = false
    /// The last byte written, to end the output with a line feed on a terminal.
    private(set) var lastByte: UInt8?

    init(kind: MediaKind, target: Target) {
        self.target = target
        let isShown = target.isTerminal || target.pretty != .none
        decoder = isShown ? kind.charset.flatMap(SingleByteDecoder.init(charset:)) : nil
        guard isShown else { return }
        if target.isTerminal { safety = TerminalText() }
        let palette = Palette(isColored: target.pretty.hasColors)
        switch kind.format {
        case .json where target.pretty != .none, .lines where target.pretty != .none:
            json = PrettyJSON(palette: palette, isFormatted: target.pretty.isFormatted)
        case .events where target.pretty.hasColors: events = EventColors(palette: palette)
        case .json, .lines, .events, .other: break
        }
    }

    mutating func feed(_ bytes: some Collection<UInt8>, into out: inout [UInt8]) {
        if isHidden { return }
        let start = out.count
        defer { lastByte = out.count > start ? out.last : lastByte }
        guard safety != nil || json != nil || events != nil || decoder != nil else {
            out += bytes
            return
        }
        if target.isTerminal, BinaryNotice.isBinary(bytes) {
            isHidden = true
            if lastByte != nil, lastByte != 0x0A { out.append(0x0A) }
            out += BinaryNotice.response.utf8
            return
        }
        if let decoder {
            process(decoder.decode(bytes), into: &out)
        } else {
            process(bytes, into: &out)
        }
    }

    /// Ends the body; on a terminal also its line.
    mutating func finish(into out: inout [UInt8]) {
        let start = out.count
        if !isHidden {
            if safety != nil {
                // The order matters: what the safety filter held back belongs before the JSON's last token.
                var held: [UInt8] = []
                safety?.finish(into: &held)
                emit(held, into: &out)
            }
            json?.finish(into: &out)
            events?.finish(into: &out)
        }
        let last = out.count > start ? out.last : lastByte
        if target.isTerminal, let last, last != 0x0A { out.append(0x0A) }
        lastByte = out.count > start ? out.last : lastByte
    }

    private mutating func process(_ bytes: some Sequence<UInt8>, into out: inout [UInt8]) {
        guard safety != nil else { return emit(bytes, into: &out) }
        var safe: [UInt8] = []
        safety?.feed(bytes, into: &safe)
        emit(safe, into: &out)
    }

    private mutating func emit(_ bytes: some Sequence<UInt8>, into out: inout [UInt8]) {
        if json != nil {
            json?.feed(bytes, into: &out)
        } else if events != nil {
            events?.feed(bytes, into: &out)
        } else {
            out += bytes
        }
    }
}
