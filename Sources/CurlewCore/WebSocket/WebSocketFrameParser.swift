/// Splits a stream of bytes into frames, regardless of its division into pieces.
package struct WebSocketFrameParser: Sendable {
    package enum Event {
        case began(WebSocketFrameHeader)
        /// A piece of the frame's payload, still masked. `position` is the number of payload bytes before it.
        case payload(UnsafeRawBufferPointer, position: Int)
        case ended
    }

    private enum State {
        case header
        case payload(WebSocketFrameHeader, position: Int)
    }

    private let rules: WebSocketFrameRules
    private var state = State.header
    /// The start of a header that has not arrived completely.
    private var partial: [UInt8] = []

    package init(rules: WebSocketFrameRules) { self.rules = rules }

    /// Returns the next event and removes its bytes from `input`; `nil` if more bytes are needed.
    ///
    /// A payload points into the memory of `input`.
    package mutating func next(
        _ input: inout UnsafeRawBufferPointer
    ) throws(WebSocketViolation) -> Event? {
        switch state {
        case .header:
            guard let header = try header(&input) else { return nil }
            state = .payload(header, position: 0)
            return .began(header)
        case .payload(let header, let position):
            guard position < header.length else {
                state = .header
                return .ended
            }
            guard !input.isEmpty else { return nil }
            let count = min(header.length - position, input.count)
            let piece = UnsafeRawBufferPointer(rebasing: input[..<count])
            input = UnsafeRawBufferPointer(rebasing: input[count...])
            state = .payload(header, position: position + count)
            return .payload(piece, position: position)
        }
    }

    private mutating func header(
        _ input: inout UnsafeRawBufferPointer
    ) throws(WebSocketViolation) -> WebSocketFrameHeader? {
        if partial.isEmpty {
            if let (header, size) = try WebSocketFrameHeader.parse(input, rules: rules) {
                input = UnsafeRawBufferPointer(rebasing: input[size...])
                return header
            }
            partial.append(contentsOf: input)
            input = UnsafeRawBufferPointer(rebasing: input[input.count...])
            return nil
        }
        while let byte = input.first {
            partial.append(byte)
            input = UnsafeRawBufferPointer(rebasing: input[1...])
            let rules = rules
            let parsed = try partial.withUnsafeBufferPointer { bytes throws(WebSocketViolation) in
                try WebSocketFrameHeader.parse(UnsafeRawBufferPointer(bytes), rules: rules)
            }
            guard let parsed else { continue }
            partial.removeAll(keepingCapacity: true)
            return parsed.header
        }
        return nil
    }
}

/// The rules for the header of a frame: those of RFC 6455 and the limits of this side.
package struct WebSocketFrameRules: Sendable {
    /// The role of the side that sends the frames.
    package var sender: WebSocketRole
    /// The most bytes of one frame's payload.
    package var maximumFrameSize: Int
    /// Whether permessage-deflate was agreed on. Only then RSV1 may be set.
    package var allowsCompression: Bool

    package init(sender: WebSocketRole, maximumFrameSize: Int, allowsCompression: Bool) {
        self.sender = sender
        self.maximumFrameSize = maximumFrameSize
        self.allowsCompression = allowsCompression
    }

    func checkedOpcode(ofFirstByte byte: UInt8) throws(WebSocketViolation) -> WebSocketOpcode {
        guard byte & 0x30 == 0 else { throw .brokenProtocol("a reserved bit is set") }
        guard let opcode = WebSocketOpcode(rawValue: byte & 0x0F) else {
            throw .brokenProtocol("opcode \(byte & 0x0F) is reserved")
        }
        if byte & 0x40 != 0 {
            guard allowsCompression else { throw .brokenProtocol("a reserved bit is set") }
            switch opcode {
            case .text, .binary: break
            case .continuation: throw .brokenProtocol("a continuation frame is marked as compressed")
            case .close, .ping, .pong: throw .brokenProtocol("a control frame is marked as compressed")
            }
        }
        if opcode.isControl, byte & 0x80 == 0 { throw .brokenProtocol("a control frame is fragmented") }
        return opcode
    }

    func check(_ opcode: WebSocketOpcode, shortLength: Int, isMasked: Bool) throws(WebSocketViolation) {
        guard isMasked == sender.masksWhatItSends else {
            throw .brokenProtocol(isMasked ? "a server's frame is masked" : "a client's frame is not masked")
        }
        if opcode.isControl, shortLength > WebSocketFrameHeader.maximumControlLength {
            throw .brokenProtocol("a control frame is longer than 125 bytes")
        }
    }

    func check(length: UInt64, in lengthSize: Int) throws(WebSocketViolation) -> Int {
        switch lengthSize {
        case 2: guard length > 125 else { throw .brokenProtocol("a length is not in its shortest form") }
        case 8:
            guard length >> 63 == 0 else { throw .brokenProtocol("the highest bit of a length is set") }
            guard length > 0xFFFF else { throw .brokenProtocol("a length is not in its shortest form") }
        default: break
        }
        guard length <= UInt64(maximumFrameSize) else { throw .tooBig("a frame", limit: maximumFrameSize) }
        return Int(length)
    }
}
