internal import Foundation

/// Assembles messages from their fragments, and refuses a message at the first byte that cannot be part of it.
struct WebSocketMessageAssembler: Sendable {
    private enum State {
        case idle
        case text(UTF8Validator, isCompressed: Bool)
        case binary(isCompressed: Bool)
    }

    private let maximumSize: Int
    private let decompressor: (any WebSocketDecompressor)?
    private var state = State.idle
    /// The content of the current message so far, decompressed.
    private var content: [UInt8] = []
    /// The number of bytes of `content` that were checked for UTF-8.
    private var validated = 0
    /// A message that arrived in one piece, until its frame ends.
    private var whole: WebSocketMessage?
    /// The buffer in which a piece is unmasked before it is decompressed.
    private var unmasked: [UInt8] = []

    /// The largest buffer, in bytes, that is kept after its message.
    private static let keptCapacity = 4 * 1024
    /// The most bytes that are reserved because of a length that the peer has announced.
    private static let trustedLength = 64 * 1024

    init(maximumSize: Int, decompressor: (any WebSocketDecompressor)?) {
        self.maximumSize = maximumSize
        self.decompressor = decompressor
    }

    mutating func frameBegan(_ header: WebSocketFrameHeader) throws(WebSocketViolation) {
        switch (state, header.opcode) {
        case (.idle, .text): state = .text(UTF8Validator(), isCompressed: header.isCompressed)
        case (.idle, .binary): state = .binary(isCompressed: header.isCompressed)
        case (.idle, .continuation): throw .brokenProtocol("a continuation frame continues nothing")
        case (.text, .continuation), (.binary, .continuation): break
        case (.text, .text), (.text, .binary), (.binary, .text), (.binary, .binary):
            throw .brokenProtocol("a message begins inside of another")
        case (_, .close), (_, .ping), (_, .pong): return
        }
        guard !isCompressed else { return }
        guard header.length <= maximumSize - content.count else { throw .tooBig("a message", limit: maximumSize) }
    }

    mutating func append(
        _ bytes: UnsafeRawBufferPointer, of frame: WebSocketFrameHeader, position: Int
    ) throws(WebSocketViolation) {
        if isCompressed, let decompressor {
            try decompress(bytes, of: frame, position: position, with: decompressor)
        } else if frame.isFinal, frame.mask == nil, bytes.count == frame.length, content.isEmpty {
            whole = try message(bytes)
            return
        } else {
            if position == 0 { reserve(frame.length) }
            let start = content.count
            content.append(contentsOf: bytes)
            if let mask = frame.mask {
                content.withUnsafeMutableBytes {
                    WebSocketMask.apply(mask, to: .init(rebasing: $0[start...]), position: position)
                }
            }
        }
        try validate()
    }

    mutating func frameEnded(_ frame: WebSocketFrameHeader) throws(WebSocketViolation) -> WebSocketMessage? {
        guard frame.isFinal else { return nil }
        if isCompressed, let decompressor {
            try decompressor.finishMessage(into: &content, limit: maximumSize)
            try validate()
        }
        let finished = state
        state = .idle
        if let whole {
            self.whole = nil
            return whole
        }
        defer { empty() }
        switch finished {
        case .idle: return nil
        case .text(let validator, _):
            guard validator.isComplete else { throw Self.notText }
            return .text(String(decoding: content, as: UTF8.self))
        case .binary: return .data(Data(content))
        }
    }

    /// Creates the message from a frame that arrived in one piece, without a copy in `content`.
    private func message(_ bytes: UnsafeRawBufferPointer) throws(WebSocketViolation) -> WebSocketMessage? {
        switch state {
        case .idle: return nil
        case .text(var validator, _):
            guard validator.accepts(bytes), validator.isComplete else { throw Self.notText }
            return .text(String(decoding: bytes, as: UTF8.self))
        case .binary: return .data(Data(bytes))
        }
    }

    private var isCompressed: Bool {
        switch state {
        case .idle: false
        case .text(_, let isCompressed), .binary(let isCompressed): isCompressed
        }
    }

    private mutating func decompress(
        _ bytes: UnsafeRawBufferPointer, of frame: WebSocketFrameHeader, position: Int,
        with decompressor: any WebSocketDecompressor
    ) throws(WebSocketViolation) {
        guard let mask = frame.mask else {
            return try decompressor.decompress(bytes, into: &content, limit: maximumSize)
        }
        unmasked.removeAll(keepingCapacity: bytes.count <= Self.keptCapacity)
        unmasked.append(contentsOf: bytes)
        unmasked.withUnsafeMutableBytes { WebSocketMask.apply(mask, to: $0, position: position) }
        // Taken out of `self`, because the closure that reads it changes `content`.
        var piece: [UInt8] = []
        swap(&piece, &unmasked)
        defer { swap(&piece, &unmasked) }
        let limit = maximumSize
        try piece.withUnsafeBufferPointer { bytes throws(WebSocketViolation) in
            try decompressor.decompress(UnsafeRawBufferPointer(bytes), into: &content, limit: limit)
        }
    }

    private mutating func validate() throws(WebSocketViolation) {
        switch state {
        case .text(var validator, let isCompressed):
            let new = validated
            guard content.withUnsafeBytes({ validator.accepts(.init(rebasing: $0[new...])) }) else {
                throw Self.notText
            }
            validated = content.count
            state = .text(validator, isCompressed: isCompressed)
        case .idle, .binary: break
        }
    }

    /// Reserves memory for an announced length. The length is the peer's claim, so the reservation is limited.
    private mutating func reserve(_ length: Int) {
        guard content.isEmpty else { return }
        content.reserveCapacity(min(length, Self.trustedLength))
    }

    private mutating func empty() {
        content.removeAll(keepingCapacity: content.capacity <= Self.keptCapacity)
        validated = 0
    }

    private static let notText = WebSocketViolation(.invalidFramePayloadData, "a text message is not UTF-8")
}

/// Validates UTF-8 (RFC 3629) incrementally, and fails at the first byte that cannot be part of valid text.
package struct UTF8Validator: Sendable {
    /// The number of continuation bytes still expected.
    private var missing = 0
    // The range of the next continuation byte. It is narrower for the first one, to exclude overlong forms, surrogates
    // and scalars above U+10FFFF.
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    package init() {}

    /// Whether the bytes so far end at the end of a character.
    package var isComplete: Bool { missing == 0 }

    /// Whether these bytes continue valid text.
    package mutating func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return true }
        let count = bytes.count
        var index = 0
        while index < count {
            if missing == 0 {
                while index &+ 8 <= count,
                    base.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
                {
                    index &+= 8
                }
                guard index < count else { break }
            }
            guard accepts(base.load(fromByteOffset: index, as: UInt8.self)) else { return false }
            index &+= 1
        }
        return true
    }

    private mutating func accepts(_ byte: UInt8) -> Bool {
        guard missing == 0 else {
            guard byte >= lowest, byte <= highest else { return false }
            missing -= 1
            (lowest, highest) = (0x80, 0xBF)
            return true
        }
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: missing = 1
        case 0xE0...0xEF:
            missing = 2
            if byte == 0xE0 { lowest = 0xA0 }
            if byte == 0xED { highest = 0x9F }
        case 0xF0...0xF4:
            missing = 3
            if byte == 0xF0 { lowest = 0x90 }
            if byte == 0xF4 { highest = 0x8F }
        default: return false
        }
        return true
    }
}
