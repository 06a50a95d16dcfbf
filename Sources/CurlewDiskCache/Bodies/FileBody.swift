internal import CurlewCore
internal import Foundation

/// A body in a separate file.
struct FileBody: CacheBody {
    let file: StoredFile
    let size: Int64
    /// The checksums of the body's pieces, encoded by `BodyPieces`.
    let checks: Data
    let number: Int64
    let uses: UseList
    /// Called if the file is damaged or cannot be read.
    let report: @Sendable (BodyFault) -> Void

    func reader(of range: Range<Int64>) async -> (any CacheReader)? {
        guard range.lowerBound >= 0, range.upperBound <= size else { return nil }
        uses.note(number)
        let reader = FileBodyReader(self, range)
        // Damage at the beginning of the range is a miss. Damage further on ends a response that has already begun.
        guard await reader.prepare() else { return nil }
        return reader
    }
}

/// Reads a file in groups of pieces and checks each piece before it returns a part of it.
private actor FileBodyReader: CacheReader {
    // The number of pieces read in one visit to the lane.
    private static let piecesAtOnce: Int64 = 4

    private let body: FileBody
    private let lane = Lane.nextForBodies()
    private var rest: Range<Int64>
    private var prepared: Data?

    init(_ body: FileBody, _ range: Range<Int64>) {
        self.body = body
        rest = range
    }

    /// Reads the first bytes. Returns false if they are damaged or cannot be read.
    func prepare() async -> Bool {
        guard !rest.isEmpty else { return true }
        prepared = await read()
        return prepared != nil
    }

    func next() async throws(CurlewError) -> Data? {
        if let data = prepared {
            prepared = nil
            return data
        }
        guard !rest.isEmpty else { return nil }
        guard let data = await read() else {
            throw CurlewError(
                .contentDecodingFailed, phase: .file, reason: "The stored body is damaged or cannot be read.")
        }
        return data
    }

    private func read() async -> Data? {
        let (body, rest) = (body, rest)
        let read = await lane.run { Result { () throws(BodyFault) in try Self.read(body, rest) } }
        switch read {
        case .success(let data):
            self.rest = rest.lowerBound + Int64(data.count)..<rest.upperBound
            return data
        case .failure(let fault):
            self.rest = rest.upperBound..<rest.upperBound
            body.report(fault)
            return nil
        }
    }

    private static func read(_ body: FileBody, _ range: Range<Int64>) throws(BodyFault) -> Data {
        let size = Int64(BodyPieces.size)
        let first = range.lowerBound / size
        let end = min(BodyPieces.count(range.upperBound), first + piecesAtOnce)
        let stop = min(end * size, body.size)
        let data = try body.file.open().read(Int(stop - first * size), at: first * size)
        let isWhole = data.withUnsafeBytes { bytes in
            (first..<end).allSatisfy { piece in
                let start = Int((piece - first) * size)
                let part = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + Int(size), bytes.count)])
                return BodyPieces.check(part, of: piece) == BodyPieces.check(in: body.checks, at: piece)
            }
        }
        guard isWhole else { throw .damaged }
        return data[Int(range.lowerBound - first * size)..<Int(min(stop, range.upperBound) - first * size)]
    }
}

/// The division of a stored body into pieces. Each piece has a checksum, so that a range of the body can be verified
/// without reading the rest.
enum BodyPieces {
    /// The size of every piece but the last.
    static let size = 256 << 10

    static func check(_ bytes: UnsafeRawBufferPointer, of piece: Int64) -> UInt64 {
        StoreChecksum.of(bytes, seed: UInt64(piece))
    }

    static func check(_ bytes: Data, of piece: Int64) -> UInt64 {
        bytes.withUnsafeBytes { check($0, of: piece) }
    }

    /// The number of pieces of a body.
    static func count(_ size: Int64) -> Int64 { (size + Int64(Self.size) - 1) / Int64(Self.size) }

    /// The checksums as the index stores them: eight bytes each, little-endian.
    static func encoded(_ checks: [UInt64]) -> Data {
        var data = Data(capacity: checks.count * 8)
        for check in checks { withUnsafeBytes(of: check.littleEndian) { data.append(contentsOf: $0) } }
        return data
    }

    static func check(in encoded: Data, at piece: Int64) -> UInt64? {
        let offset = Int(piece) * 8
        guard piece >= 0, offset + 8 <= encoded.count else { return nil }
        return encoded.withUnsafeBytes {
            UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
    }
}

/// A small body that was read from the index with its entry.
struct InlineBody: CacheBody {
    let bytes: Data
    let number: Int64
    let uses: UseList

    var size: Int64 { Int64(bytes.count) }

    func reader(of range: Range<Int64>) async -> (any CacheReader)? {
        uses.note(number)
        return await DataCacheBody(bytes).reader(of: range)
    }
}
