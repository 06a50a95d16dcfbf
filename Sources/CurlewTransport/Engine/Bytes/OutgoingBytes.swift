/// The bytes that a connection has to send, in order.
struct OutgoingBytes {
    private var chunks: [[UInt8]] = []
    /// The first chunk that was not sent completely, and the number of its bytes that were.
    private var index = 0
    private var offset = 0

    var isEmpty: Bool { index == chunks.count }

    mutating func append(_ bytes: [UInt8]) { chunks.append(bytes) }

    /// Calls `body` with the next bytes. Until some of them are sent they stay the same, at the same address, as
    /// OpenSSL requires of a repeated write.
    func withNext<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        chunks[index].withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[offset...])) }
    }

    mutating func sent(_ count: Int) {
        offset += count
        guard offset == chunks[index].count else { return }
        offset = 0
        chunks[index] = []
        index += 1
        if index == chunks.count {
            chunks.removeAll(keepingCapacity: true)
            index = 0
        } else if index >= 64, index * 2 > chunks.count {
            chunks.removeFirst(index)
            index = 0
        }
    }

    mutating func removeAll() {
        chunks = []
        (index, offset) = (0, 0)
    }
}
