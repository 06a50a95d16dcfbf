internal import CurlewCore
internal import Foundation

/// Reads a file in groups of pieces and checks each piece before it returns a part of it.
actor FileBodyReader: CacheReader {
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
