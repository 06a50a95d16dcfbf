public import CurlewCore
internal import Foundation

/// The values of a body that has one on each line (NDJSON, JSON Lines), decoded as they arrive.
///
/// Blank lines are skipped. A line that does not decode ends the sequence with `.decodingFailed`.
public struct StreamValues<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    let open: @Sendable () -> StreamReader
    let maximumLength: Int
    let decoder: any DataDecoder

    public func makeAsyncIterator() -> Iterator {
        // Only our decoder is known to accept data whose indices do not begin at zero.
        let takesParts = decoder is FastJSONDecoder
        let lines = LineReader(open(), maximumLength: maximumLength) { bytes, piece -> Data? in
            guard !bytes.allSatisfy(\.isASCIIBlank) else { return nil }
            return takesParts ? piece.part(bytes) ?? Data(bytes) : Data(bytes)
        }
        return Iterator(lines: lines, decoder: decoder)
    }

    /// Hands out one value after the other.
    public struct Iterator: AsyncIteratorProtocol {
        var lines: LineReader<Data>
        let decoder: any DataDecoder
        /// The parser's memory, reused for the whole stream.
        let memory = JSONTapeMemory()

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(CurlewError) -> Value? {
            guard let line = try await lines.next() else { return nil }
            do {
                guard let fast = decoder as? FastJSONDecoder else { return try decoder.decode(Value.self, from: line) }
                return try fast.decode(Value.self, from: line, reusing: memory)
            } catch {
                lines.leave()
                throw CurlewError(
                    .decodingFailed,
                    phase: .decoding,
                    reason: "a line of the stream does not decode as \(Value.self)",
                    underlying: error
                )
            }
        }
    }
}

extension Data {
    /// A slice with these bytes, without a copy; `nil` if they are not part of this data.
    fileprivate func part(_ bytes: UnsafeRawBufferPointer) -> Data? {
        withUnsafeBytes { all in
            guard let start = all.baseAddress, let first = bytes.baseAddress, first >= start,
                first + bytes.count <= start + all.count
            else { return nil }
            let offset = startIndex + (first - start)
            return self[offset..<offset + bytes.count]
        }
    }
}

extension UInt8 {
    fileprivate var isASCIIBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0D }
}
