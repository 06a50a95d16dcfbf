/// Formats JSON that is sent as text, for example as `text/plain`. Any other text is written unchanged.
///
/// The text is held back while it may still be JSON, up to 1 MiB. The first byte that cannot be part of JSON releases
/// it.
struct FoundJSON: BodyShaper {
    private static let limit = 1 << 20

    private enum State: Sendable { case undecided, collecting, plain }

    private let shaping: Shaping
    private var state = State.undecided
    private var text: [UInt8] = []
    private var probe = PrettyJSON(palette: Palette(isColored: false), isFormatted: false)

    init(shaping: Shaping) { self.shaping = shaping }

    mutating func feed(_ bytes: some Sequence<UInt8>, into out: inout [UInt8]) {
        if state == .plain {
            out += bytes
            return
        }
        let start = text.count
        text += bytes
        if state == .undecided {
            guard let first = text.first(where: { !Shaping.isSpace($0) }) else { return }
            guard Shaping.beginsJSON(first) else { return release(into: &out) }
            state = .collecting
            check(text[...])
        } else {
            check(text[start...])
        }
        if probe.isPassingThrough || text.count > Self.limit { release(into: &out) }
    }

    mutating func finish(into out: inout [UInt8]) {
        guard state != .plain else { return }
        if state == .collecting, let shaped = shaping.formattedJSON(text) {
            out += shaped
            text = []
        } else {
            release(into: &out)
        }
    }

    private mutating func check(_ piece: ArraySlice<UInt8>) {
        var ignored: [UInt8] = []
        probe.feed(piece, into: &ignored)
    }

    private mutating func release(into out: inout [UInt8]) {
        out += text
        text = []
        state = .plain
    }
}
