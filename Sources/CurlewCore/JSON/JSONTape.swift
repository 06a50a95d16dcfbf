/// The words of a tape while it is written.
///
/// An array is one word, followed by its elements. An object is two words, followed by keys and values in turn; the
/// second word marks, while the object is open, the keys that it has.
struct JSONTape {
    private(set) var words: UnsafeMutablePointer<UInt64>
    private(set) var count = 0
    private var capacity: Int
    private let textCount: Int

    init(textCount: Int) {
        self.textCount = textCount
        // Each string and number is one word: about a tenth of the bytes in usual texts.
        capacity = max(16, min(textCount + 2, textCount / 8))
        words = .allocate(capacity: capacity)
    }

    @inline(__always)
    mutating func append(_ word: JSONWord) {
        words[count] = word.bits
        count &+= 1
    }

    /// Makes room for two more words, by what the text so far has needed.
    @inline(__always)
    mutating func reserve(at offset: Int) {
        if count &+ 2 > capacity { grow(at: offset) }
    }

    @inline(never)
    private mutating func grow(at offset: Int) {
        let foreseen = Int(Double(count) * Double(textCount) / Double(max(offset, 1)) * 1.05)
        capacity = max(capacity + capacity / 2 + 2, min(foreseen, capacity * 4))
        let larger = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity)
        larger.update(from: words, count: count)
        words.deallocate()
        words = larger
    }
}
