import Testing

@testable import CurlewTransport

@Suite("Bytes to send")
struct OutgoingBytesTests {
    private static let chunks: [[UInt8]] = [[1, 2, 3], [4], [5, 6], [7, 8, 9, 10]]

    /// `step` is the number of bytes that are sent at a time.
    @Test(arguments: 1...10)
    func outgoingBytesKeepTheirOrderInAnyPieces(_ step: Int) {
        var outgoing = OutgoingBytes()
        for chunk in Self.chunks { outgoing.append(chunk) }
        var sent: [UInt8] = []
        while !outgoing.isEmpty {
            let bytes = outgoing.withNext { Array($0.prefix(step)) }
            sent += bytes
            outgoing.sent(bytes.count)
        }
        #expect(sent == Self.chunks.flatMap(\.self))
    }

    @Test func interleavedChunksKeepTheirOrder() {
        var outgoing = OutgoingBytes()
        var next: UInt8 = 0
        var expected: UInt8 = 0
        for _ in 0..<1000 {
            for _ in 0..<3 {
                outgoing.append([next])
                next &+= 1
            }
            for _ in 0..<2 {
                #expect(outgoing.withNext { $0[0] } == expected)
                outgoing.sent(1)
                expected &+= 1
            }
        }
        #expect(!outgoing.isEmpty)
    }

    @Test func removedBytesAreNotSent() {
        var outgoing = OutgoingBytes()
        outgoing.append([1, 2])
        outgoing.sent(1)
        outgoing.removeAll()
        #expect(outgoing.isEmpty)
        outgoing.append([3])
        #expect(outgoing.withNext { Array($0) } == [3])
    }
}
