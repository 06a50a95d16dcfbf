internal import Curlew

/// Writes the requested parts of an exchange in order.
struct ExchangePrinter: Sendable {
    let parts: Set<OutputPart>
    let target: BodyFormatter.Target
    private let destination: OutputDestination
    /// `nil` until `begin`, unless the destination is open from the start.
    private var output: OutputFile?
    /// The bytes of the request, until the response arrives and the destination is opened.
    private var pending: [UInt8] = []
    private var formatter: BodyFormatter?
    private var hasWritten = false
    /// Whether the body has begun. The formatter may hold back its first bytes, so the output does not tell.
    private var hasBody = false

    init(parts: Set<OutputPart>, target: BodyFormatter.Target, destination: OutputDestination) {
        self.parts = parts
        self.target = target
        self.destination = destination
        output = destination.opened
    }

    /// Opens the destination, which empties an existing file. Until then, output waits in memory.
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

    /// Writes the request. `body` is `nil` if there is none, or none that can be shown.
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

    mutating func response(_ head: ResponseHead) throws(OutputFile.Failure) {
        try begin()
        if parts.contains(.responseHead) { try block(heads.response(head)) }
        let type = head.headers.first { $0.name.lowercased() == "content-type" }?.value
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

    /// Ends the body. `isFollowed` means that another exchange follows, so the last line must end.
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

    /// Writes a block of whole lines, after an empty line if there is earlier output.
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

/// Writes the heads of requests and responses.
struct HeadPrinter: Sendable {
    let palette: Palette
    /// Whether the text is escaped for a terminal.
    let isTerminal: Bool
    /// Whether fields are sorted by name.
    var sortsFields = false

    func request(_ head: RequestHead) -> String {
        let line = [
            palette(.method, shown(head.method)), palette(.url, shown(head.target)),
            palette(.protocolVersion, head.version),
        ]
        return line.joined(separator: " ") + "\n" + fields(head.headers)
    }

    func response(_ head: ResponseHead) -> String {
        response(
            version: head.version.rawValue, status: head.status, reason: head.reason,
            headers: head.headers.map { HeaderField($0.name, $0.value) })
    }

    func response(version: String, status: Int, reason: String, headers: [HeaderField]) -> String {
        var line = palette(.protocolVersion, version) + " " + palette(Style.status(status), String(status))
        if !reason.isEmpty { line += " " + palette(.reason, shown(reason)) }
        return line + "\n" + fields(headers)
    }

    /// Returns lines such as `Elapsed time: 1.23 s`.
    func metadata(_ rows: [(name: String, value: String)]) -> String {
        rows.map { "\(palette(.fieldName, $0.name)): \(palette(.jsonNumber, $0.value))\n" }.joined()
    }

    private func fields(_ headers: [HeaderField]) -> String {
        ordered(headers).map { "\(palette(.headerName, shown($0.name))): \(palette(.headerValue, shown($0.value)))\n" }
            .joined()
    }

    /// Sorts the fields if required. Fields with the same name keep their order.
    private func ordered(_ headers: [HeaderField]) -> [HeaderField] {
        guard sortsFields else { return headers }
        return headers.enumerated()
            .sorted { ($0.element.name.lowercased(), $0.offset) < ($1.element.name.lowercased(), $1.offset) }
            .map(\.element)
    }

    private func shown(_ text: String) -> String { isTerminal ? TerminalText.escaped(text) : text }
}
