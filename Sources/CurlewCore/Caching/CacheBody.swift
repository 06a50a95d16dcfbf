public import Foundation

/// The body of a stored response. Creating one is cheap: bytes are read on demand.
///
/// A body keeps what it needs (a file descriptor, the bytes themselves) until it is released, so that a reader can
/// finish an entry that is replaced or removed meanwhile. If a store cannot promise this, the reader throws.
public protocol CacheBody: Sendable {
    /// The number of bytes in the body.
    var size: Int64 { get }

    /// Begins to read a part of the body. `range` is within `0..<size`. Returns `nil` if the body is gone or damaged,
    /// which counts as a miss.
    func reader(of range: Range<Int64>) async -> (any CacheReader)?
}

/// Reads a stored body from front to back, on behalf of one consumer.
public protocol CacheReader: AnyObject, Sendable {
    /// Returns the next bytes of the range, or `nil` at its end. A chunk is never empty; its size is up to the store
    /// (16 KiB to 1 MiB).
    ///
    /// Called by one task at a time, and not again after `nil` or an error. Releasing a reader early abandons the read.
    /// It throws if the body turns out to be damaged or gone. The request then fails, because its response has already
    /// begun; therefore a store must verify bytes before it returns them, not afterwards.
    func next() async throws(CurlewError) -> Data?
}

/// A body in memory.
public struct DataCacheBody: CacheBody {
    private let data: Data

    /// Creates a body that consists of these bytes.
    public init(_ data: Data) { self.data = data }

    public var size: Int64 { Int64(data.count) }

    public func reader(of range: Range<Int64>) async -> (any CacheReader)? {
        guard range.lowerBound >= 0, range.upperBound <= size else { return nil }
        let start = data.startIndex
        return DataCacheReader(data[(start + Int(range.lowerBound))..<(start + Int(range.upperBound))])
    }
}

// SAFETY: `CacheReader` requires that one task at a time calls `next()`, so access to `rest` never overlaps.
private final class DataCacheReader: CacheReader, @unchecked Sendable {
    private var rest: Data?

    init(_ data: Data) { rest = data.isEmpty ? nil : data }

    func next() async throws(CurlewError) -> Data? {
        defer { rest = nil }
        return rest
    }
}
