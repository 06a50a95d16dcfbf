public import CurlewCore
internal import Foundation

/// The values of a body that has one on each line (NDJSON, JSON Lines), decoded as they arrive.
///
/// Blank lines are skipped. A line that does not decode ends the sequence with `.decodingFailed`.
public struct StreamValues<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = Value
    public typealias Failure = CurlewError

    let open: @Sendable () -> StreamReader
    let maximumLength: Int
    let decoder: any DataDecoder

    public func makeAsyncIterator() -> Iterator {
        let reader = open()
        let lines = LineReader(reader, maximumLength: maximumLength) { bytes -> Data? in
            guard let start = bytes.baseAddress, !bytes.allSatisfy(\.isASCIIBlank) else { return nil }
            return Data(bytes: start, count: bytes.count)
        }
        return Iterator(reader: reader, lines: lines, decoder: decoder)
    }

    /// Hands out one value after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let reader: StreamReader
        var lines: LineReader<Data>
        let decoder: any DataDecoder

        public mutating func next() async throws(CurlewError) -> Value? {
            try await next(isolation: nil)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(CurlewError) -> Value? {
            guard let line = try await lines.next(isolation: actor) else { return nil }
            do {
                return try decoder.decode(Value.self, from: line)
            } catch {
                reader.leave()
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

extension UInt8 {
    fileprivate var isASCIIBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0D }
}
