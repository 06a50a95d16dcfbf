internal import CurlewCore
internal import Foundation

/// Reads a file's pieces, and checks each before it hands out a part of it.
actor FileBodyReader: CacheReader {
    // Several pieces for one change of threads.
    private static let piecesAtOnce: Int64 = 4

    private let body: FileBody
    private let lane = Lane.nextForBodies()
    private var rest: Range<Int64>
    private var prepared: Data?

    init(_ body: FileBody, _ range: Range<Int64>) {
        self.body = body
        rest = range
    }

    /// Reads the first bytes; false where they are damaged.
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
            throw CurlewError(.contentDecodingFailed, phase: .file, reason: "The stored body is damaged.")
        }
        return data
    }

    private func read() async -> Data? {
        let (body, rest) = (body, rest)
        let data = await lane.run { Self.read(body, rest) }
        if let data {
            self.rest = rest.lowerBound + Int64(data.count)..<rest.upperBound
        } else {
            self.rest = rest.upperBound..<rest.upperBound
            body.reportDamage()
        }
        return data
    }

    private static func read(_ body: FileBody, _ range: Range<Int64>) -> Data? {
        let size = Int64(BodyPieces.size)
        let first = range.lowerBound / size
        let end = min(BodyPieces.count(range.upperBound), first + piecesAtOnce)
        let stop = min(end * size, body.size)
        guard let data = body.file.read(Int(stop - first * size), at: first * size) else { return nil }
        let isWhole = data.withUnsafeBytes { bytes in
            (first..<end).allSatisfy { piece in
                let start = Int((piece - first) * size)
                let part = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + Int(size), bytes.count)])
                return BodyPieces.check(part, of: piece) == BodyPieces.check(in: body.checks, at: piece)
            }
        }
        guard isWhole else { return nil }
        return data[Int(range.lowerBound - first * size)..<Int(min(stop, range.upperBound) - first * size)]
    }
}
