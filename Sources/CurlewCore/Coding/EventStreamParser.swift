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

    // The event that is being read. Every data line is followed by a line feed here, also the last.
    private var data: [UInt8] = []
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
        var start = 0
        if skipsLineFeed, let first = bytes.first {
            skipsLineFeed = false
            if first == UInt8(ascii: "\n") { start = 1 }
        }
        guard let base = bytes.baseAddress else { return }
        let count = bytes.count
        func position(of byte: UInt8, _ range: Range<Int>) -> Int? {
            memchr(base + range.lowerBound, Int32(byte), range.count).map { UnsafeRawPointer($0) - base }
        }
        // Looked for again only when it was passed: a text without line feeds is not walked for each of its lines.
        var lineFeed = position(of: UInt8(ascii: "\n"), start..<count)
        while start < count {
            if let passed = lineFeed, passed < start { lineFeed = position(of: UInt8(ascii: "\n"), start..<count) }
            let carriageReturn = position(of: UInt8(ascii: "\r"), start..<(lineFeed ?? count))
            guard var index = carriageReturn ?? lineFeed else { break }
            let byte = bytes[index]
            try end(UnsafeRawBufferPointer(rebasing: bytes[start..<index]), body)
            index += 1
            if byte == UInt8(ascii: "\r") {
                if index == count {
                    skipsLineFeed = true
                } else if bytes[index] == UInt8(ascii: "\n") {
                    index += 1
                }
            }
            start = index
        }
        guard start < count else { return }
        partial.append(contentsOf: bytes[start...])
        try check(partial.count + data.count)
    }

    private mutating func end(
        _ piece: UnsafeRawBufferPointer,
        _ body: (ServerSentEvent) -> Void
    ) throws(CurlewError) {
        if partial.isEmpty {
            try line(piece, body)
        } else {
            partial.append(contentsOf: piece)
            var whole: [UInt8] = []
            swap(&whole, &partial)
            try whole.withUnsafeBufferPointer { buffer throws(CurlewError) in try line(.init(buffer), body) }
            whole.removeAll(keepingCapacity: true)
            swap(&whole, &partial)
        }
    }

    private mutating func line(
        _ line: UnsafeRawBufferPointer,
        _ body: (ServerSentEvent) -> Void
    ) throws(CurlewError) {
        // The byte order mark counts, as it does while its line comes in pieces.
        try check(line.count + data.count)
        var line = line
        if isFirstLine {
            isFirstLine = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) { line = UnsafeRawBufferPointer(rebasing: line[3...]) }
        }
        if line.isEmpty { return dispatch(body) }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            return field(line, value: .init(rebasing: line[line.count...]))
        }
        var first = colon + 1
        if first < line.count, line[first] == UInt8(ascii: " ") { first += 1 }
        field(.init(rebasing: line[..<colon]), value: .init(rebasing: line[first...]))
    }

    private mutating func field(_ name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        if Self.isEqual(name, "data") {
            data.append(contentsOf: value)
            data.append(UInt8(ascii: "\n"))
        } else if Self.isEqual(name, "event") {
            type = value.isEmpty ? nil : String(decoding: value, as: UTF8.self)
        } else if Self.isEqual(name, "id") {
            if !value.contains(0) { pendingID = value.isEmpty ? nil : String(decoding: value, as: UTF8.self) }
        } else if Self.isEqual(name, "retry") {
            guard !value.isEmpty, value.allSatisfy(ASCII.isDigit), let number = ASCII.number(value) else { return }
            retry = .milliseconds(number)
            reconnectionTime = retry
        }
    }

    private mutating func dispatch(_ body: (ServerSentEvent) -> Void) {
        lastEventID = pendingID
        defer {
            type = nil
            retry = nil
            data.removeAll(keepingCapacity: true)
        }
        guard !data.isEmpty else { return }
        let text = data.withUnsafeBufferPointer { String(decoding: $0.dropLast(), as: UTF8.self) }
        body(ServerSentEvent(id: lastEventID, event: type ?? "message", data: text, retry: retry))
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
