public import Foundation

/// Parses server-sent events (HTML standard, 9.2.6) from a stream of bytes, however it was cut into chunks.
public struct EventStreamParser: Sendable {
    /// Most bytes of one event; a bigger one is `.limitExceeded`.
    public let maximumEventSize: Int
    /// What `Last-Event-ID` says when connecting again; nil for no header.
    public private(set) var lastEventID: String?
    /// The reconnection time last asked for; nil for the client's own.
    public private(set) var reconnectionTime: Duration?

    /// The line that has begun, and has not ended.
    private var partial: [UInt8] = []
    private var isFirstLine = true
    /// The last chunk ended in CR: a LF at the start of the next one belongs to it.
    private var skipsLineFeed = false

    // The event that is being read.
    private var data = EventData()
    private var type: String?
    private var pendingID: String?
    private var retry: Duration?

    /// `lastEventID` is carried over from the connection before.
    public init(maximumEventSize: Int, lastEventID: String? = nil) {
        self.maximumEventSize = maximumEventSize
        self.lastEventID = lastEventID
        pendingID = lastEventID
    }

    /// The events that end in `chunk`.
    public mutating func events(in chunk: Data) throws(CurlewError) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        let result = chunk.withUnsafeBytes { bytes in
            Result { () throws(CurlewError) in try parse(bytes) { events.append($0) } }
        }
        try result.get()
        return events
    }

    /// Calls `body` with each event that ends in `bytes`, in order. There is nothing to be done at the end
    /// of the stream: an event without its blank line is dropped.
    public mutating func parse(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (ServerSentEvent) -> Void
    ) throws(CurlewError) {
        var place = Place()
        while let event = try next(in: bytes, from: &place) { body(event) }
    }

    /// How far some bytes were read.
    package struct Place: Sendable {
        /// The first byte that was not read.
        package fileprivate(set) var position = 0
        /// The first line feed from there on, the count of the bytes where there is none, or one that was passed. A text
        /// without line feeds is not walked for each of its lines.
        fileprivate var lineFeed = -1

        package init() {}
    }

    /// The next event that ends in `bytes`, from `place` on. Without one the rest is kept until more bytes come, and `place`
    /// is at the end. So a caller takes event after event of the same bytes as it needs them.
    package mutating func next(
        in bytes: UnsafeRawBufferPointer,
        from place: inout Place
    ) throws(CurlewError) -> ServerSentEvent? {
        guard place.position < bytes.count else { return nil }
        if skipsLineFeed {
            skipsLineFeed = false
            if bytes[place.position] == UInt8(ascii: "\n") { place.position += 1 }
        }
        while let line = nextLine(in: bytes, from: &place) {
            let isBlank =
                if partial.isEmpty {
                    try take(line, of: bytes)
                } else {
                    try takePartial(endingWith: UnsafeRawBufferPointer(rebasing: bytes[line]))
                }
            if isBlank, let event = dispatch(bytes) { return event }
        }
        data.keep(bytes)
        partial.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[place.position...]))
        place.position = bytes.count
        try check(partial.count + data.count)
        return nil
    }

    /// Where the next line is that ends in `bytes`. `place` is moved behind its end.
    private mutating func nextLine(in bytes: UnsafeRawBufferPointer, from place: inout Place) -> Range<Int>? {
        let (start, count) = (place.position, bytes.count)
        guard let base = bytes.baseAddress, start < count else { return nil }
        func position(of byte: UInt8, upTo end: Int) -> Int? {
            memchr(base + start, Int32(byte), end - start).map { UnsafeRawPointer($0) - base }
        }
        if place.lineFeed < start { place.lineFeed = position(of: UInt8(ascii: "\n"), upTo: count) ?? count }
        if let end = position(of: UInt8(ascii: "\r"), upTo: place.lineFeed) {
            place.position = end + 1
            if place.position == count {
                skipsLineFeed = true
            } else if bytes[place.position] == UInt8(ascii: "\n") {
                place.position += 1
            }
            return start..<end
        }
        guard place.lineFeed < count else { return nil }
        place.position = place.lineFeed + 1
        return start..<place.lineFeed
    }

    /// The line that began in earlier bytes has ended. True where it is blank.
    private mutating func takePartial(endingWith end: UnsafeRawBufferPointer) throws(CurlewError) -> Bool {
        partial.append(contentsOf: end)
        let line = exchange(&partial, with: [])
        return try line.withUnsafeBufferPointer { buffer throws(CurlewError) in
            let bytes = UnsafeRawBufferPointer(buffer)
            let isBlank = try take(0..<bytes.count, of: bytes)
            data.keep(bytes)
            return isBlank
        }
    }

    /// Reads a line. True where it is blank.
    private mutating func take(_ line: Range<Int>, of bytes: UnsafeRawBufferPointer) throws(CurlewError) -> Bool {
        // The byte order mark counts, as it does while its line comes in pieces.
        try check(line.count + data.count)
        var line = line
        if isFirstLine {
            isFirstLine = false
            if bytes[line].starts(with: [0xEF, 0xBB, 0xBF]) { line = line.lowerBound + 3..<line.upperBound }
        }
        if line.isEmpty { return true }
        guard let colon = bytes[line].firstIndex(of: UInt8(ascii: ":")) else {
            field(.init(rebasing: bytes[line]), value: line.upperBound..<line.upperBound, of: bytes)
            return false
        }
        var first = colon + 1
        if first < line.upperBound, bytes[first] == UInt8(ascii: " ") { first += 1 }
        field(.init(rebasing: bytes[line.lowerBound..<colon]), value: first..<line.upperBound, of: bytes)
        return false
    }

    private mutating func field(
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

    /// After a blank line: the event, where it has data.
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

/// The data lines of one event. The first is not copied while the bytes are there in which it lies: most events have no other.
private struct EventData: Sendable {
    /// The first line, in the bytes that are being read.
    private var first: Range<Int>?
    /// Every line is followed by a line feed here, also the last.
    private var lines: [UInt8] = []

    /// Bytes, with a line feed after each line.
    var count: Int { first.map { $0.count + 1 } ?? lines.count }

    mutating func add(_ line: Range<Int>, of bytes: UnsafeRawBufferPointer) {
        if count == 0 {
            first = line
        } else {
            keep(bytes)
            append(line, of: bytes)
        }
    }

    /// Copies what lies in the bytes: they are about to go.
    mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        if let line = exchange(&first, with: nil) { append(line, of: bytes) }
    }

    /// The text of all lines, and none from now on; nil where there was none.
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
