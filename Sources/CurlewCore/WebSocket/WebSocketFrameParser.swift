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
