package import Foundation

/// Parses server-sent events (HTML standard, 9.2.6) from a stream of bytes, regardless of its division into chunks.
public struct EventStreamParser: Sendable {
    /// The most bytes of one event. A larger event throws `.limitExceeded`.
    package let maximumEventSize: Int
    /// The value of `Last-Event-ID` for the next connection; `nil` to omit the field.
    package private(set) var lastEventID: String?
    /// The reconnection time that the server requested last; `nil` for the client's default.
    package private(set) var reconnectionTime: Duration?

    /// The bytes of a line whose end has not arrived yet.
    private var partial: [UInt8] = []
    private var isFirstLine = true
    /// Whether the last chunk ended with CR. An LF at the start of the next chunk then belongs to it.
    private var skipsLineFeed = false

    // The event that is being parsed.
    private var data = EventData()
    private var type: String?
    private var pendingID: String?
    private var retry: Duration?

    /// Creates a parser. Pass the `lastEventID` of the previous connection to continue its stream.
    public init(maximumEventSize: Int, lastEventID: String? = nil) {
        self.maximumEventSize = maximumEventSize
        self.lastEventID = lastEventID
        pendingID = lastEventID
    }

    /// Returns the events that end in `chunk`.
    package mutating func events(in chunk: Data) throws(CurlewError) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        let result = chunk.withUnsafeBytes { bytes in
            Result { () throws(CurlewError) in try parse(bytes) { events.append($0) } }
        }
        try result.get()
        return events
    }

    /// Calls `body` with each event that ends in `bytes`, in order. The end of the stream needs no call: an event
    /// without its final blank line is dropped.
    public mutating func parse(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (ServerSentEvent) -> Void
    ) throws(CurlewError) {
        var cursor = Cursor()
        while let event = try next(in: bytes, from: &cursor) { body(event) }
    }

    /// The progress of reading a buffer.
    package struct Cursor: Sendable {
        /// The index of the first unread byte.
        package fileprivate(set) var position = 0
        /// The index of the first line feed at or after `position`, or the size of the buffer if there is none.
        /// Recomputed once `position` has passed it. Kept so that a text with CR line ends is not searched for a line
        /// feed once per line.
        fileprivate var lineFeed = -1

        package init() {}
    }

    /// Returns the next event that ends in `bytes`, beginning at `cursor`. Without one, the rest of `bytes` is stored
    /// until more arrives, and `cursor` moves to the end. A caller can thus take events one by one from the same buffer.
    package mutating func next(
        in bytes: UnsafeRawBufferPointer,
        from cursor: inout Cursor
    ) throws(CurlewError) -> ServerSentEvent? {
        guard cursor.position < bytes.count else { return nil }
        if skipsLineFeed {
            skipsLineFeed = false
            if bytes[cursor.position] == UInt8(ascii: "\n") { cursor.position += 1 }
        }
        while let line = nextLine(in: bytes, from: &cursor) {
            let isBlank =
                if partial.isEmpty {
                    try process(line, of: bytes)
                } else {
                    try processPartial(endingWith: UnsafeRawBufferPointer(rebasing: bytes[line]))
                }
            if isBlank, let event = dispatch(bytes) { return event }
        }
        data.keep(bytes)
        partial.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[cursor.position...]))
        cursor.position = bytes.count
        try check(partial.count + data.count)
        return nil
    }

    /// Returns the next line that ends in `bytes`, and moves `cursor` past its end.
    private mutating func nextLine(in bytes: UnsafeRawBufferPointer, from cursor: inout Cursor) -> Range<Int>? {
        let (start, count) = (cursor.position, bytes.count)
        guard let base = bytes.baseAddress, start < count else { return nil }
        func position(of byte: UInt8, upTo end: Int) -> Int? {
            memchr(base + start, Int32(byte), end - start).map { UnsafeRawPointer($0) - base }
        }
        if cursor.lineFeed < start { cursor.lineFeed = position(of: UInt8(ascii: "\n"), upTo: count) ?? count }
        if let end = position(of: UInt8(ascii: "\r"), upTo: cursor.lineFeed) {
            cursor.position = end + 1
            if cursor.position == count {
                skipsLineFeed = true
            } else if bytes[cursor.position] == UInt8(ascii: "\n") {
                cursor.position += 1
            }
            return start..<end
        }
        guard cursor.lineFeed < count else { return nil }
        cursor.position = cursor.lineFeed + 1
        return start..<cursor.lineFeed
    }

    /// Processes a line that began in an earlier buffer. Returns whether it is blank.
    private mutating func processPartial(endingWith end: UnsafeRawBufferPointer) throws(CurlewError) -> Bool {
        partial.append(contentsOf: end)
        let line = exchange(&partial, with: [])
        return try line.withUnsafeBufferPointer { buffer throws(CurlewError) in
            let bytes = UnsafeRawBufferPointer(buffer)
            let isBlank = try process(0..<bytes.count, of: bytes)
            data.keep(bytes)
            return isBlank
        }
    }

    /// Processes a line. Returns whether it is blank.
    private mutating func process(_ line: Range<Int>, of bytes: UnsafeRawBufferPointer) throws(CurlewError) -> Bool {
        // Checked with the byte order mark, which also counts while its line is incomplete.
        try check(line.count + data.count)
        var line = line
        if isFirstLine {
            isFirstLine = false
            if bytes[line].starts(with: [0xEF, 0xBB, 0xBF]) { line = line.lowerBound + 3..<line.upperBound }
        }
        if line.isEmpty { return true }
        guard let colon = bytes[line].firstIndex(of: UInt8(ascii: ":")) else {
            processField(.init(rebasing: bytes[line]), value: line.upperBound..<line.upperBound, of: bytes)
            return false
        }
        var first = colon + 1
        if first < line.upperBound, bytes[first] == UInt8(ascii: " ") { first += 1 }
        processField(.init(rebasing: bytes[line.lowerBound..<colon]), value: first..<line.upperBound, of: bytes)
        return false
    }

    private mutating func processField(
        _ name: UnsafeRawBufferPointer,
        value range: Range<Int>,
        of bytes: UnsafeRawBufferPointer
    ) {
        if Self.isEqual(name, "data") { return data.add(range, of: bytes) }
        let value = UnsafeRawBufferPointer(rebasing: bytes[range])
        if Self.isEqual(name, "event") {
            type = value.isEmpty ? nil : String(decoding: value, as: UTF8.self)
        } else if Self.isEqual(name, "id") {
            if !value.contains(0) { pendingID = value.isEmpty ? nil : String(decoding: value, as: UTF8.self) }
        } else if Self.isEqual(name, "retry") {
            guard !value.isEmpty, value.allSatisfy(ASCII.isDigit), let number = ASCII.number(value) else { return }
            retry = .milliseconds(number)
            reconnectionTime = retry
        }
    }

    /// Ends the event at a blank line. Returns `nil` if it has no data.
    private mutating func dispatch(_ bytes: UnsafeRawBufferPointer) -> ServerSentEvent? {
        lastEventID = pendingID
        let (type, retry) = (exchange(&self.type, with: nil), exchange(&self.retry, with: nil))
        guard let text = data.take(from: bytes) else { return nil }
        return ServerSentEvent(id: lastEventID, event: type ?? "message", data: text, retry: retry)
    }

    private static func isEqual(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
        guard bytes.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.count where bytes[index] != text.utf8Start[index] { return false }
        return true
    }

    private func check(_ size: Int) throws(CurlewError) {
        guard size > maximumEventSize else { return }
        throw CurlewError(
            .limitExceeded, phase: .receive, reason: "an event is larger than \(maximumEventSize) bytes")
    }
}

/// An event of a `text/event-stream`.
public struct ServerSentEvent: Sendable, Hashable {
    /// The last event ID: that of this event or of an earlier one. `nil` if the stream has sent none.
    public var id: String?
    /// The type of the event.
    public var event: String
    /// The data lines, joined by `\n`.
    public var data: String
    /// The time to wait before connecting again, if this event sets it.
    public var retry: Duration?

    /// Creates an event, for tests and fakes.
    public init(id: String? = nil, event: String = "message", data: String, retry: Duration? = nil) {
        self.id = id
        self.event = event
        self.data = data
        self.retry = retry
    }
}

/// The data lines of one event. The first line stays a range in the caller's buffer until another line or the end of
/// the buffer forces a copy.
private struct EventData: Sendable {
    /// The range of the first line in the current buffer.
    private var first: Range<Int>?
    /// The copied lines. A line feed follows each line, including the last.
    private var lines: [UInt8] = []

    /// The size of the data, including a line feed after each line.
    var count: Int { first.map { $0.count + 1 } ?? lines.count }

    mutating func add(_ line: Range<Int>, of bytes: UnsafeRawBufferPointer) {
        if count == 0 {
            first = line
        } else {
            keep(bytes)
            append(line, of: bytes)
        }
    }

    /// Copies the first line if it is still in the buffer, which becomes invalid.
    mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        if let line = exchange(&first, with: nil) { append(line, of: bytes) }
    }

    /// Returns the text of all lines and clears them; `nil` if there are none.
    mutating func take(from bytes: UnsafeRawBufferPointer) -> String? {
        if let line = exchange(&first, with: nil) {
            return String(decoding: UnsafeRawBufferPointer(rebasing: bytes[line]), as: UTF8.self)
        }
        guard !lines.isEmpty else { return nil }
        defer { lines.removeAll(keepingCapacity: true) }
        return String(decoding: lines.dropLast(), as: UTF8.self)
    }

    private mutating func append(_ line: Range<Int>, of bytes: UnsafeRawBufferPointer) {
        lines.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[line]))
        lines.append(UInt8(ascii: "\n"))
    }
}
