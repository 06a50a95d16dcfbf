internal import Foundation

/// A read position in a response body.
struct BodyCursor {
    private let body: TestServer.Response.Body
    private let isChunked: Bool
    private var chunk = 0
    private var offsetInChunk = 0
    /// The number of body bytes returned so far, without chunk framing.
    private(set) var offset: Int64 = 0

    /// The largest piece of a `data` or `generated` body. A chunk of `chunks` may be larger.
    static let portion = 64 * 1024

    init(_ body: TestServer.Response.Body, isChunked: Bool) {
        self.body = body
        self.isChunked = isChunked
    }

    /// Returns the next bytes to send and the pause after them; `nil` at the end of the body or at `limit`.
    mutating func next(upTo limit: Int64?) -> (bytes: [UInt8], pause: Duration)? {
        let room = limit.map { $0 - offset } ?? .max
        guard room > 0 else { return nil }
        let most = Int(min(room, Int64(Self.portion)))
        switch body {
        case .none, .echo:
            return nil
        case .data(let data):
            let start = Int(offset)
            guard start < data.count else { return nil }
            return (framed(data.dropFirst(start).prefix(most)), .zero)
        case .chunks(let chunks, let every):
            while chunk < chunks.count, offsetInChunk == chunks[chunk].count {
                chunk += 1
                offsetInChunk = 0
            }
            guard chunk < chunks.count else { return nil }
            // A chunk is sent whole, because tests choose such a body for its chunk boundaries.
            let part = chunks[chunk].dropFirst(offsetInChunk).prefix(Int(min(room, Int64(Int32.max))))
            offsetInChunk += part.count
            let isLast = chunk == chunks.count - 1
            let endsChunk = offsetInChunk == chunks[chunk].count
            return (framed(part), endsChunk && !isLast ? every : .zero)
        case .generated(let length, let make):
            let left = length.map { $0 - offset } ?? .max
            guard left > 0 else { return nil }
            let made = make(offset, Int(min(Int64(most), left)))
            guard !made.isEmpty else { return nil }
            return (framed(made), .zero)
        }
    }

    /// Whether the generator ended before the promised length.
    var isShort: Bool {
        if case .generated(let length?, _) = body { offset < length } else { false }
    }

    private mutating func framed(_ part: Data) -> [UInt8] {
        offset += Int64(part.count)
        return isChunked ? Self.chunk(part) : Array(part)
    }

    static func chunk(_ part: some Collection<UInt8>) -> [UInt8] {
        Array((String(part.count, radix: 16) + "\r\n").utf8) + Array(part) + [0x0D, 0x0A]
    }
}
