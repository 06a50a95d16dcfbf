/// Writes the parts of one exchange that were asked for, each behind the other.
struct ExchangePrinter: Sendable {
    let parts: Set<OutputPart>
    let target: BodyFormatter.Target
    private let destination: OutputDestination
    /// `nil` until `begin`, unless it is open from the start.
    private var output: OutputFile?
    /// The request, until the response's arrival opens the file for it.
    private var pending: [UInt8] = []
    private var formatter: BodyFormatter?
    private var hasWritten = false
    /// Whether the body has begun: what is held back has not been written yet.
    private var hasBody = false

    init(parts: Set<OutputPart>, target: BodyFormatter.Target, destination: OutputDestination) {
        self.parts = parts
        self.target = target
        self.destination = destination
        output = destination.opened
    }

    /// Opens the destination, emptying a file. Without it, output waits in memory.
    @discardableResult
    mutating func begin() throws(OutputFile.Failure) -> OutputFile {
        if let output { return output }
        let output = try destination.begin()
        self.output = output
        try output.write(pending)
        pending = []
        return output
    }

    private var heads: HeadPrinter {
        HeadPrinter(
            palette: Palette(isColored: target.pretty.hasColors, theme: target.look.theme),
            isTerminal: target.isTerminal,
            sortsFields: target.pretty.isFormatted && target.look.format.sortsHeaders
        )
    }

    /// `body` is nil where there is none, or none that can be shown.
    mutating func request(_ head: RequestHead, body: [UInt8]?, contentType: String?) throws(OutputFile.Failure) {
        if parts.contains(.requestHead) { try block(heads.request(head)) }
        guard parts.contains(.requestBody), let body, !body.isEmpty else { return }
        try separate()
        var formatter = BodyFormatter(kind: MediaKind(contentType: contentType), target: target)
        var out: [UInt8] = []
        formatter.feed(body, into: &out)
        formatter.finish(into: &out)
        if out.last != 0x0A, !parts.isDisjoint(with: [.responseHead, .responseBody, .metadata]) { out.append(0x0A) }
        try write(out)
    }

    mutating func response(
        version: String,
        status: Int,
        reason: String,
        headers: [HeaderField]
    ) throws(OutputFile.Failure) {
        try begin()
        if parts.contains(.responseHead) {
            try block(heads.response(version: version, status: status, reason: reason, headers: headers))
        }
        let type = headers.first { $0.name.lowercased() == "content-type" }?.value
        formatter = BodyFormatter(kind: MediaKind(contentType: type, look: target.look), target: target)
        hasBody = false
    }

    mutating func body(_ bytes: some Collection<UInt8>) throws(OutputFile.Failure) {
        guard parts.contains(.responseBody), !bytes.isEmpty, formatter != nil else { return }
        if !hasBody { try separate() }
        hasBody = true
        var out: [UInt8] = []
        formatter?.feed(bytes, into: &out)
        try write(out)
    }

    /// `isFollowed`: another exchange is shown below it, behind an empty line.
    mutating func endBody(isFollowed: Bool = false) throws(OutputFile.Failure) {
        var out: [UInt8] = []
        if parts.contains(.responseBody) { formatter?.finish(into: &out) }
        if isFollowed, let last = out.last ?? formatter?.lastByte, last != 0x0A { out.append(0x0A) }
        formatter = nil
        try write(out)
    }

    mutating func metadata(_ rows: [(name: String, value: String)]) throws(OutputFile.Failure) {
        if parts.contains(.metadata) { try block(heads.metadata(rows)) }
    }

    /// A block of whole lines, with an empty line before it if something stands there.
    private mutating func block(_ text: String) throws(OutputFile.Failure) {
        try separate()
        try write(Array(text.utf8))
    }

    private mutating func separate() throws(OutputFile.Failure) {
        if hasWritten { try write([0x0A]) }
    }

    private mutating func write(_ bytes: [UInt8]) throws(OutputFile.Failure) {
        guard !bytes.isEmpty else { return }
        hasWritten = true
        guard let output else {
            pending += bytes
            return
        }
        try output.write(bytes)
    }
}
