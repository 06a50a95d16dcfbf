import Foundation
import Testing

@testable import Curlew

/// The buffers that collect bodies for a store.
@Suite struct BodyMemoryTests {
    private static func bytes(_ size: Int) -> Data { Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 5) }) }

    @Test func largeBodyEqualsItsAppendedParts() throws {
        let data = Self.bytes(5_000_001)
        let memory = try #require(BodyMemory(ofSize: Int64(data.count)))
        for start in stride(from: 0, to: data.count, by: 100_003) {
            let part = data[start..<min(start + 100_003, data.count)]
            #expect(part.withUnsafeBytes { memory.append($0) })
        }
        #expect(memory.count == data.count)
        // Appending beyond the size is refused and changes nothing.
        #expect(!Data([1]).withUnsafeBytes { memory.append($0) })
        let body = memory.data()
        #expect(body == data)
        #expect(!Data([1]).withUnsafeBytes { memory.append($0) })
        #expect(memory.data().isEmpty)
        // The data can be changed like any other, without effect on its copies.
        var changed = body
        changed.append(7)
        changed[0] ^= 1
        #expect(body == data && changed.count == data.count + 1)
    }

    @Test func bodyMemoryIsMadeOnlyForSuitableSizes() {
        #expect(BodyMemory(ofSize: 2_000_000) == nil)
        #expect(BodyMemory(ofSize: 0) == nil)
    }

    @Test func bodyThatEndsEarlyHasItsActualLength() throws {
        let memory = try #require(BodyMemory(ofSize: 3_000_000))
        #expect(Self.bytes(10).withUnsafeBytes { memory.append($0) })
        #expect(memory.data() == Self.bytes(10))
    }

    @Test(arguments: [1, 1000, PieceCutter.size - 1, PieceCutter.size, 3 * PieceCutter.size, 7_654_321])
    func piecesJoinToTheWholeBody(step: Int) throws {
        let data = Self.bytes(min(5 * PieceCutter.size + 17, step * 4000))
        let cutter = PieceCutter()
        var pieces: [Data] = []
        for start in stride(from: 0, to: data.count, by: step) {
            try data[start..<min(start + step, data.count)].withUnsafeBytes { bytes in
                var rest = bytes
                while !rest.isEmpty {
                    let (taken, full) = try #require(cutter.take(rest))
                    #expect(taken > 0)
                    if let full { pieces.append(full) }
                    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(taken))
                }
            }
        }
        #expect(pieces.allSatisfy { $0.count == PieceCutter.size })
        if let last = cutter.rest() { pieces.append(last) }
        #expect(cutter.rest() == nil)
        #expect(Data(pieces.joined()) == data)
    }

    @Test func memoryOfReleasedPieceIsReused() throws {
        let cutter = PieceCutter()
        func piece(_ byte: UInt8) throws -> Data {
            let bytes = Data(repeating: byte, count: PieceCutter.size)
            return try #require(bytes.withUnsafeBytes { cutter.take($0) }?.full)
        }
        func address(_ data: Data) -> UnsafeRawPointer? { data.withUnsafeBytes { $0.baseAddress } }
        let kept = try piece(1)
        var addresses: Set<UnsafeRawPointer?> = []
        for number in 2..<20 { addresses.insert(address(try piece(UInt8(number)))) }
        #expect(addresses.count == 1)
        // A piece that is still referenced must not be overwritten.
        #expect(!addresses.contains(address(kept)))
        #expect(kept.allSatisfy { $0 == 1 })
    }
}
