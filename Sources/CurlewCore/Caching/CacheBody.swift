public import Foundation

/// The body of a stored response. Making one costs nothing: bytes are read when they are asked for.
///
/// It keeps what it needs (a file descriptor, the bytes themselves) until it is released, so that an entry that is replaced
/// or removed meanwhile can still be read to its end. Where a store cannot promise that, the reader throws.
public protocol CacheBody: Sendable {
    /// How many bytes it has.
    var size: Int64 { get }

    /// Begins to read a part of the body, which lies in `0..<size`; nil where the body is gone or damaged, which is a miss.
    func reader(of range: Range<Int64>) async -> (any CacheReader)?
}

/// Reads a stored body from front to back, for one reader.
public protocol CacheReader: AnyObject, Sendable {
    /// The next bytes, never none, as many as the store finds convenient (16 KiB to 1 MiB); nil at the end of the range.
    ///
    /// Called by one task at a time, never again after nil or an error. A reader that is released early gives up. It throws
    /// where the body turns out to be damaged, or is gone: the bytes so far were right, and the request fails, for its
    /// response cannot be begun again. So a store checks before it returns bytes, not behind them.
    func next() async throws(CurlewError) -> Data?
}

/// A body that lies in memory.
public struct DataCacheBody: CacheBody {
    private let data: Data

    /// Creates a body of bytes.
    public init(_ data: Data) { self.data = data }

    public var size: Int64 { Int64(data.count) }

    public func reader(of range: Range<Int64>) async -> (any CacheReader)? {
        guard range.lowerBound >= 0, range.upperBound <= size else { return nil }
        let start = data.startIndex
        return DataCacheReader(data[(start + Int(range.lowerBound))..<(start + Int(range.upperBound))])
    }
}

// SAFETY: called by one task at a time.
private final class DataCacheReader: CacheReader, @unchecked Sendable {
    private var rest: Data?

    init(_ data: Data) { rest = data.isEmpty ? nil : data }

    func next() async throws(CurlewError) -> Data? {
        defer { rest = nil }
        return rest
    }
}
