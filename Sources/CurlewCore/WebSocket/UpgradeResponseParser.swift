package import Foundation

/// Parses the HTTP/1.1 response to an upgrade from a stream of bytes: the head and, unless the status is 101, the body.
package struct UpgradeResponseParser: Sendable {
    package enum Event: Equatable, Sendable {
        /// A 1xx head other than 101.
        case informational(ResponseHead)
        /// The head of the final response. After a 101 the parser is done: the following bytes belong to the new
        /// protocol.
        case head(ResponseHead)
        case body(Data)
        case end
    }

    private enum State {
        case head
        case length(Int64)
        case chunkSize
        case chunk(Int64)
        case chunkEnd
        case trailers
        case untilClose
        case ended
    }

    private let maximumHeaderSize: Int
    private var state = State.head
    private var line: [UInt8] = []
    private var statusLine: (version: HTTPVersion, status: Int, reason: String)?
    private var fields: [HTTPHeader] = []
    private var headerSize = 0

    package init(maximumHeaderSize: Int) { self.maximumHeaderSize = maximumHeaderSize }

    /// Returns the next event and removes its bytes from `input`; `nil` if more bytes are needed.
    package mutating func next(_ input: inout UnsafeRawBufferPointer) throws(CurlewError) -> Event? {
        while true {
            switch state {
            case .head:
                guard let line = try nextLine(&input) else { return nil }
                if let event = try headLine(line) { return event }
            case .length(0):
                state = .ended
                return .end
            case .length(let left):
                guard let data = take(&input, atMost: left) else { return nil }
                state = .length(left - Int64(data.count))
                return .body(data)
            case .chunkSize:
                guard let line = try nextLine(&input) else { return nil }
                // The size limit applies to heads and to trailers, not to the size lines of all chunks together.
                headerSize = 0
                state = try chunk(sizeLine: line)
            case .chunk(0): state = .chunkEnd
            case .chunk(let left):
                guard let data = take(&input, atMost: left) else { return nil }
                state = .chunk(left - Int64(data.count))
                return .body(data)
            case .chunkEnd:
                guard let line = try nextLine(&input) else { return nil }
                guard line.isEmpty else { throw Self.broken("a chunk is longer than its size says") }
                state = .chunkSize
            case .trailers:
                guard let line = try nextLine(&input) else { return nil }
                guard line.isEmpty else { continue }
                state = .ended
                return .end
            case .untilClose:
                return take(&input, atMost: .max).map(Event.body)
            case .ended: return nil
            }
        }
    }

    /// Call at the end of the connection. Throws if the response is incomplete.
    package mutating func finish() throws(CurlewError) {
        switch state {
        case .ended, .untilClose, .length(0): state = .ended
        case .head:
            throw CurlewError(
                .receiveFailed, phase: .waiting, reason: "the connection ended before the server had answered")
        case .length, .chunkSize, .chunk, .chunkEnd, .trailers:
            throw CurlewError(.truncated, phase: .receive, reason: "the body ended before its announced length")
        }
    }

    // MARK: Head

    private mutating func headLine(_ line: [UInt8]) throws(CurlewError) -> Event? {
        guard !line.contains(UInt8(ascii: "\r")) else {
            throw Self.broken("a line of the head has a carriage return within it")
        }
        guard statusLine != nil else {
            statusLine = try Self.statusLine(line)
            return nil
        }
        guard line.isEmpty else {
            try fields.append(Self.field(line))
            return nil
        }
        guard let (version, status, reason) = statusLine else { return nil }
        let head = ResponseHead(
            status: status, reason: reason, version: version, headers: HTTPHeaders(received: fields))
        statusLine = nil
        fields = []
        // The size limit applies to all heads together, because a server may send informational heads without end.
        guard status == 101 || status >= 200 else { return .informational(head) }
        headerSize = 0
        state = try Self.body(of: head)
        return .head(head)
    }

    private static func statusLine(
        _ line: [UInt8]
    ) throws(CurlewError) -> (version: HTTPVersion, status: Int, reason: String) {
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, let version = HTTPVersion(rawValue: String(decoding: parts[0], as: UTF8.self)),
            version == .http1_1 || version == .http1_0, parts[1].count == 3, parts[1].allSatisfy(ASCII.isDigit),
            let status = ASCII.number(parts[1]), status >= 100
        else { throw broken("the answer does not begin as one of HTTP/1.1") }
        return (version, Int(status), parts.count == 3 ? String(decoding: parts[2], as: UTF8.self) : "")
    }

    private static func field(_ line: [UInt8]) throws(CurlewError) -> HTTPHeader {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0,
            line[..<colon].allSatisfy(ASCII.isTokenByte)
        else { throw broken("a line of the answer's head is no field") }
        return HTTPHeader(
            name: String(decoding: line[..<colon], as: UTF8.self),
            value: String(decoding: ASCII.trimmingBlanks(line[(colon + 1)...]), as: UTF8.self))
    }

    private static func body(of head: ResponseHead) throws(CurlewError) -> State {
        switch head.status {
        case 101: return .ended
        case 204, 304: return .length(0)
        default: break
        }
        if let coding = head.headers.combinedValue(for: "Transfer-Encoding") {
            return FieldTokens.list(coding).last.map { ASCII.equalsIgnoringCase($0, "chunked") } == true
                ? .chunkSize : .untilClose
        }
        let lengths = Set(head.headers.values(for: "Content-Length"))
        guard let length = lengths.first else { return .untilClose }
        guard lengths.count == 1, !length.isEmpty, length.utf8.allSatisfy(ASCII.isDigit),
            let count = ASCII.number(length.utf8)
        else { throw broken("the length of the answer is no number") }
        return .length(count)
    }

    private func chunk(sizeLine line: [UInt8]) throws(CurlewError) -> State {
        let digits = line.prefix { ASCII.isHexDigit($0) }
        guard !digits.isEmpty, digits.count <= 15,
            digits.count == line.count || [0x3B, 0x20, 0x09].contains(line[digits.count])
        else { throw Self.broken("the size of a chunk is no number") }
        let size = digits.reduce(Int64(0)) { $0 << 4 | Int64(ASCII.hexValue($1) ?? 0) }
        return size == 0 ? .trailers : .chunk(size)
    }

    // MARK: Bytes

    private mutating func nextLine(_ input: inout UnsafeRawBufferPointer) throws(CurlewError) -> [UInt8]? {
        let end = input.firstIndex(of: UInt8(ascii: "\n"))
        let piece = input[..<(end ?? input.count)]
        headerSize += piece.count + (end == nil ? 0 : 1)
        guard headerSize <= maximumHeaderSize else {
            throw CurlewError(
                .limitExceeded, phase: .receive, reason: "the answer's head is larger than \(maximumHeaderSize) bytes")
        }
        line.append(contentsOf: piece)
        input = UnsafeRawBufferPointer(rebasing: input[(end.map { $0 + 1 } ?? input.count)...])
        if Self.isHTTP2(line) {
            throw .unsupported(feature: "a WebSocket over HTTP/2", needs: "a server that opens them over HTTP/1.1")
        }
        guard end != nil else { return nil }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        defer { line = [] }
        return line
    }

    private func take(_ input: inout UnsafeRawBufferPointer, atMost limit: Int64) -> Data? {
        guard !input.isEmpty else { return nil }
        let count = Int(min(limit, Int64(input.count)))
        defer { input = UnsafeRawBufferPointer(rebasing: input[count...]) }
        return Data(input[..<count])
    }

    /// Whether the bytes begin with a SETTINGS frame of stream 0. A server that supports HTTP/2 only begins with one,
    /// regardless of the request (RFC 9113, 3.4).
    private static func isHTTP2(_ bytes: [UInt8]) -> Bool {
        bytes.count >= 9 && bytes[0] == 0 && bytes[1] == 0 && bytes[3...4] == [4, 0] && bytes[5...8] == [0, 0, 0, 0]
    }

    private static func broken(_ reason: String) -> CurlewError {
        CurlewError(.protocolViolation, phase: .receive, reason: reason)
    }
}

/// The head of an HTTP/1.1 `GET` request, as bytes.
package enum UpgradeRequestHead {
    /// Returns the head. `Host` is added as the first field, unless `headers` contains it.
    package static func bytes(for url: URL, headers: HTTPHeaders) -> [UInt8] {
        var target = url.path(percentEncoded: true)
        if target.isEmpty { target = "/" }
        if let query = url.query(percentEncoded: true) { target += "?" + query }
        var text = "GET \(target) HTTP/1.1\r\n"
        if !headers.contains(name: "Host") { text += "Host: \(host(of: url))\r\n" }
        for field in headers { text += "\(field.name): \(field.value)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    private static func host(of url: URL) -> String {
        let host = Hostname.bracketed(url.host(percentEncoded: true) ?? "")
        guard let port = url.port, port != (url.scheme?.lowercased() == "https" ? 443 : 80) else { return host }
        return "\(host):\(port)"
    }
}
