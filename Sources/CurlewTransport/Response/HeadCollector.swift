internal import CurlewCore
internal import Glibc

/// Assembles a response's head from the lines that libcurl passes, one call per line.
struct HeadCollector {
    enum Event {
        /// The line completes nothing.
        case none
        /// A status line, with its version. libcurl frames the response by it, and may at once give the connection to
        /// other requests.
        case started(HTTPVersion)
        case informational(ResponseHead)
        case head(ResponseHead)
        case malformed(String)
    }

    private enum State {
        case statusLine
        case fields
        /// The final head is complete: the lines that follow are trailers, or the next response.
        case body
    }

    private var state = State.statusLine
    private var status = 0
    private var reason = ""
    private var version = HTTPVersion.http1_1
    private var fields = FieldLines()
    private static let usualFields = 12
    /// The number of bytes in all lines of the response so far.
    private(set) var size = 0
    private var trailerLines = FieldLines()

    /// The status of the last complete head since the request was sent; 0 before it. Each send resets it.
    var lastStatus = 0

    /// Removes and returns the fields that followed the body.
    mutating func takeTrailers() -> [HTTPHeader] {
        if trailerLines.isEmpty { return [] }
        defer { trailerLines.removeAll() }
        return trailerLines.all
    }

    /// Whether the next line belongs to a head that has begun.
    var isWithinHead: Bool {
        switch state {
        case .fields: true
        case .statusLine, .body: false
        }
    }

    /// Whether the final head for the last send is complete. What follows are trailers, unless the response asks for the
    /// request again.
    var isComplete: Bool {
        switch state {
        case .body: lastStatus != 0
        case .statusLine, .fields: false
        }
    }

    /// Processes a whole head that was parsed before, in place of its lines.
    mutating func use(_ head: ResponseHead, size: Int) {
        switch state {
        case .statusLine, .fields: self.size += size
        case .body: self.size = size
        }
        fields.removeAll()
        trailerLines.removeAll()
        lastStatus = head.status
        state = .body
    }

    mutating func parse(_ line: UnsafeRawBufferPointer) -> Event {
        size += line.count
        var end = line.count
        if end > 0, line[end - 1] == UInt8(ascii: "\n") { end -= 1 }
        while end > 0, line[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        let text = UnsafeRawBufferPointer(rebasing: line[..<end])
        // Some recipients take a bare carriage return for the end of a line. Text that a server has copied into a field
        // could then add fields (RFC 9112, 2.2).
        if let start = text.baseAddress, memchr(start, 0x0D, text.count) != nil {
            return .malformed("a line of the head has a carriage return within it")
        }
        switch state {
        case .statusLine:
            return parseStatusLine(text)
        case .fields:
            guard let first = text.first else { return complete() }
            // A folded line after the status line continues nothing (RFC 9112, 2.2).
            if fields.isEmpty, Self.isFolded(first) { return .malformed(Self.leadingFold) }
            fields.append(text)
            return .none
        case .body:
            if text.count > 5, Self.isStatusLine(text) {
                // Authentication rounds and repeated sends: a new response replaces the old one.
                fields.removeAll()
                trailerLines.removeAll()
                size = line.count
                return parseStatusLine(text)
            }
            if !text.isEmpty { trailerLines.append(text) }
            return .none
        }
    }

    private mutating func complete() -> Event {
        lastStatus = status
        let fields = fields.all
        self.fields.removeAll()
        if let problem = ContentLength.problem(in: fields) { return .malformed(problem) }
        let head = ResponseHead(
            status: status,
            reason: reason,
            version: version,
            headers: HTTPHeaders(received: fields)
        )
        if status < 200, status != 101 {
            state = .statusLine
            return .informational(head)
        }
        state = .body
        return .head(head)
    }

    // MARK: Lines

    static let leadingFold = "the head begins with a folded line"

    /// Whether a line that begins with `first` continues the line before.
    static func isFolded(_ first: UInt8) -> Bool { first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") }

    static func isStatusLine(_ text: UnsafeRawBufferPointer) -> Bool {
        text[0] == UInt8(ascii: "H") && text[1] == UInt8(ascii: "T") && text[2] == UInt8(ascii: "T")
            && text[3] == UInt8(ascii: "P") && text[4] == UInt8(ascii: "/")
    }

    private mutating func parseStatusLine(_ text: UnsafeRawBufferPointer) -> Event {
        // libcurl before 8.0 skips white space before the digits of the version.
        guard text.count > 5, Self.isStatusLine(text), ASCII.isDigit(text[5]),
            let space = text.firstIndex(of: UInt8(ascii: " "))
        else {
            return .malformed("the response does not begin with a status line")
        }
        switch text[5] {
        case UInt8(ascii: "3"): version = .http3
        case UInt8(ascii: "2"): version = .http2
        default: version = space == 8 && text[7] == UInt8(ascii: "0") ? .http1_0 : .http1_1
        }
        var index = space
        while index < text.count, text[index] == UInt8(ascii: " ") { index += 1 }
        var number = 0
        let start = index
        while index < text.count, ASCII.isDigit(text[index]), index - start < 4 {
            number = number * 10 + Int(text[index] - 0x30)
            index += 1
        }
        guard index - start == 3, number >= 100 else { return .malformed("the status code has not three digits") }
        status = number
        if index < text.count, text[index] == UInt8(ascii: " ") { index += 1 }
        reason = String(decoding: text[index...], as: UTF8.self)
        fields.reserveCapacity(Self.usualFields)
        state = .fields
        return .started(version)
    }
}

/// Header fields under construction, added one line at a time.
struct FieldLines {
    private var fields: [HTTPHeader] = []
    /// The value of the last field while folded lines extend it. It is extended in place, because a field of many lines
    /// would otherwise be copied with each of them.
    private var folded: String?

    var isEmpty: Bool { fields.isEmpty }

    mutating func reserveCapacity(_ count: Int) { fields.reserveCapacity(count) }

    mutating func removeAll() {
        fields = []
        folded = nil
    }

    /// Adds the field in a line, or a folded line to the field before it. A line without a name is ignored.
    mutating func append(_ text: UnsafeRawBufferPointer) {
        if HeadCollector.isFolded(text[0]) { return fold(text) }
        if folded != nil { storeFolded() }
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return }
        let name = String(decoding: Self.trimmed(UnsafeRawBufferPointer(rebasing: text[..<colon])), as: UTF8.self)
        let bytes = Self.trimmed(UnsafeRawBufferPointer(rebasing: text[(colon + 1)...]))
        let value =
            RedirectLocation.isName(name) ? RedirectLocation.text(of: bytes) : String(decoding: bytes, as: UTF8.self)
        fields.append(HTTPHeader(name: name, value: value))
    }

    /// Appends a folded line to the value before it (RFC 9112, 5.2).
    private mutating func fold(_ text: UnsafeRawBufferPointer) {
        if folded == nil { folded = fields.last?.value }
        folded?.append(" ")
        folded?.append(String(decoding: Self.trimmed(text), as: UTF8.self))
    }

    /// Replaces the last field's value by the folded one.
    private mutating func storeFolded() {
        guard let value = folded, let last = fields.popLast() else { return }
        fields.append(HTTPHeader(name: last.name, value: value))
        folded = nil
    }

    /// The fields received so far.
    var all: [HTTPHeader] {
        guard folded != nil else { return fields }
        var copy = self
        copy.storeFolded()
        return copy.fields
    }

    private static func trimmed(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var (start, end) = (0, text.count)
        while start < end, text[start] == 0x20 || text[start] == 0x09 { start += 1 }
        while end > start, text[end - 1] == 0x20 || text[end - 1] == 0x09 { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: text[start..<end])
    }
}
