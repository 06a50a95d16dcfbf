internal import CurlewCore
internal import Glibc

/// An incremental HTTP/1.1 request parser. It returns one event at a time, so that the connection can stop between any
/// two. Bytes after a request stay in the buffer: they belong to the next one.
struct RequestParser {
    enum Event {
        case head(Head)
        case body(ArraySlice<UInt8>)
        case end(trailers: HTTPHeaders)
        case invalid(String)
    }

    struct Head {
        var method: String
        var target: String
        var version: HTTPVersion
        var headers: HTTPHeaders
        var hasBody: Bool
    }

    private enum State {
        case head
        case body(left: Int64)
        case chunkSize
        case chunk(left: Int64)
        case chunkEnd
        case trailers
        case failed
    }

    private var state = State.head
    /// Bytes consumed from the buffer since the request began, up to `rawLimit`.
    private(set) var raw: [UInt8] = []
    var rawLimit = 0
    var headLimit = 1 << 20

    /// Returns the next event; `nil` if more bytes are needed. A body event has at most `most` bytes.
    mutating func next(_ buffer: inout InputBuffer, most: Int = .max) -> Event? {
        while true {
            switch state {
            case .head:
                return parseHead(&buffer)
            case .body(let left):
                if left == 0 { return ended() }
                guard !buffer.isEmpty else { return nil }
                let part = take(&buffer, Int(min(left, Int64(most))))
                state = .body(left: left - Int64(part.count))
                return .body(part)
            case .chunkSize:
                guard let line = takeLine(&buffer) else { return overlong(buffer) }
                // Unicode scalars, because a combining mark would form one `Character` with the semicolon or the space
                // before it.
                let digits = line.unicodeScalars.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
                guard let size = Int64(String(String.UnicodeScalarView(digits)), radix: 16), size >= 0 else {
                    return fail("chunk size \(line)")
                }
                if size == 0 { state = .trailers } else { state = .chunk(left: size) }
            case .chunk(let left):
                if left == 0 {
                    state = .chunkEnd
                    continue
                }
                guard !buffer.isEmpty else { return nil }
                let part = take(&buffer, Int(min(left, Int64(most))))
                state = .chunk(left: left - Int64(part.count))
                return .body(part)
            case .chunkEnd:
                guard let line = takeLine(&buffer) else { return overlong(buffer) }
                guard line.isEmpty else { return fail("no line end after a chunk") }
                state = .chunkSize
            case .trailers:
                guard let fields = takeFields(&buffer) else { return overlong(buffer) }
                return ended(trailers: Self.headers(fields))
            case .failed:
                return nil
            }
        }
    }

    mutating func beginRequest() {
        state = .head
        raw = []
    }

    private mutating func parseHead(_ buffer: inout InputBuffer) -> Event? {
        // RFC 9112, 2.2: empty lines before the request line are ignored.
        while buffer.lineLength().map({ $0 <= 2 && Self.text(buffer.prefix($0)).isEmpty }) == true {
            _ = takeLine(&buffer)
        }
        guard var lines = takeFields(&buffer) else { return overlong(buffer) }
        let parts = lines.removeFirst().unicodeScalars.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, let version = HTTPVersion(rawValue: String(parts[2])) else {
            return fail("request line")
        }
        let headers = Self.headers(lines)
        guard headers.count == lines.count else { return fail("header line") }
        let isChunked = headers.values(for: "Transfer-Encoding").joined(separator: ",").lowercased().contains("chunked")
        if isChunked {
            state = .chunkSize
        } else if let text = headers["Content-Length"] {
            guard let length = Int64(text), length >= 0 else { return fail("content length \(text)") }
            state = .body(left: length)
        } else {
            state = .body(left: 0)
        }
        var hasBody = isChunked
        if case .body(let left) = state { hasBody = left > 0 }
        return .head(
            Head(
                method: String(parts[0]),
                target: String(parts[1]),
                version: version,
                headers: headers,
                hasBody: hasBody
            )
        )
    }

    private mutating func ended(trailers: HTTPHeaders = [:]) -> Event {
        state = .head
        return .end(trailers: trailers)
    }

    private mutating func fail(_ reason: String) -> Event {
        state = .failed
        return .invalid(reason)
    }

    private mutating func overlong(_ buffer: InputBuffer) -> Event? {
        buffer.count > headLimit ? fail("a line or head above \(headLimit) bytes") : nil
    }

    private mutating func take(_ buffer: inout InputBuffer, _ count: Int) -> ArraySlice<UInt8> {
        let part = buffer.prefix(count)
        buffer.consume(part.count)
        if raw.count < rawLimit { raw.append(contentsOf: part.prefix(rawLimit - raw.count)) }
        return part
    }

    private mutating func takeLine(_ buffer: inout InputBuffer) -> String? {
        buffer.lineLength().map { Self.text(take(&buffer, $0)) }
    }

    /// Returns the lines before the next empty line; `nil` until that has arrived.
    private mutating func takeFields(_ buffer: inout InputBuffer) -> [String]? {
        var lengths: [Int] = []
        var offset = 0
        while let length = buffer.lineLength(from: offset) {
            offset += length
            if length <= 2, Self.text(buffer.prefix(offset).suffix(length)).isEmpty {
                let lines = lengths.map { Self.text(take(&buffer, $0)) }
                _ = take(&buffer, length)
                return lines
            }
            lengths.append(length)
        }
        return nil
    }

    /// The text of a line without its line end.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        var line = bytes
        if line.last == 0x0A { line.removeLast() }
        if line.last == 0x0D { line.removeLast() }
        return String(decoding: line, as: UTF8.self)
    }

    /// Parses field lines; skips those without a colon. A combining mark after the colon or a space belongs to the
    /// value.
    private static func headers(_ lines: [String]) -> HTTPHeaders {
        HTTPHeaders(
            received: lines.compactMap { line in
                guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
                let value = line.utf8[line.utf8.index(after: colon)...]
                return HTTPHeader(name: String(line[..<colon]), value: trimmed(value))
            }
        )
    }

    private static func trimmed(_ value: Substring.UTF8View) -> String {
        var value = value
        while let first = value.first, first == 0x20 || first == 0x09 { value.removeFirst() }
        while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
        return String(Substring(value))
    }
}

/// Bytes that were read but not parsed.
struct InputBuffer {
    private var bytes: [UInt8] = []
    private var start = 0

    var count: Int { bytes.count - start }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ new: UnsafeRawBufferPointer) {
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    mutating func consume(_ count: Int) {
        start += count
        if start > 65_536, start * 2 > bytes.count {
            bytes.removeFirst(start)
            start = 0
        }
    }

    /// The first `count` bytes, or all if there are fewer.
    func prefix(_ count: Int) -> ArraySlice<UInt8> { bytes[start..<start + min(count, self.count)] }

    /// The length of the next line with its line feed; `nil` if it is incomplete.
    func lineLength(from offset: Int = 0) -> Int? {
        bytes.withUnsafeBytes { raw in
            guard let base = raw.baseAddress, offset < count else { return nil }
            let from = base + start + offset
            guard let found = memchr(from, 0x0A, count - offset) else { return nil }
            return UnsafeRawPointer(found) - from + 1
        }
    }
}
