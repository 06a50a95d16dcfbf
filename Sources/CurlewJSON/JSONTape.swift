/// The words of a tape that is being written.
///
/// An array is one word, followed by its elements. An object is two words, followed by keys and values in turn; the
/// second word holds the marks of its keys.
struct JSONTape {
    private(set) var words: UnsafeMutablePointer<UInt64>
    private(set) var count = 0
    private var capacity: Int
    private let textCount: Int

    /// Creates a tape, in the room that `memory` keeps if there is any.
    init(textCount: Int, memory: JSONTapeMemory?) {
        self.textCount = textCount
        if let spare = memory?.take() {
            (words, capacity) = (spare.words, spare.capacity)
            return
        }
        // Each string and number is one word. Usual texts have a word for about ten bytes.
        capacity = max(16, min(textCount + 2, textCount / 8))
        words = .allocate(capacity: capacity)
    }

    /// Returns the words and their room, which the caller then owns.
    func finished() -> JSONTapeWords { JSONTapeWords(words: words, capacity: capacity) }

    mutating func append(_ word: JSONWord) {
        words[count] = word.bits
        count &+= 1
    }

    /// Makes room for two more words. A larger tape is sized by the words that the text has needed up to `offset`.
    mutating func reserve(at offset: Int) {
        if count &+ 2 > capacity { grow(at: offset) }
    }

    private mutating func grow(at offset: Int) {
        let foreseen = Int(Double(count) * Double(textCount) / Double(max(offset, 1)) * 1.05)
        capacity = max(capacity + capacity / 2 + 2, min(foreseen, capacity * 4))
        let larger = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity)
        larger.update(from: words, count: count)
        words.deallocate()
        words = larger
    }
}

/// The memory of a tape. Its owner deallocates it.
struct JSONTapeWords {
    let words: UnsafeMutablePointer<UInt64>
    let capacity: Int
}

/// Keeps the memory of one text's tape for the next text, for a reader that decodes a stream of values.
///
/// Not `Sendable`: it belongs to one reader.
package final class JSONTapeMemory {
    /// The largest tape that is kept, in words: one large text must not hold memory for the rest of a stream.
    static let largest = 64 * 1024

    private var spare: JSONTapeWords?
    /// The number of texts for which there was no memory to use again.
    package private(set) var misses = 0

    package init() {}

    deinit { spare?.words.deallocate() }

    /// Returns the memory; `nil` if there is none, for example while a text is decoded inside the decoding of another
    /// one.
    func take() -> JSONTapeWords? {
        defer { spare = nil }
        if spare == nil { misses += 1 }
        return spare
    }

    func give(_ room: JSONTapeWords) {
        guard spare == nil, room.capacity <= Self.largest else { return room.words.deallocate() }
        spare = room
    }
}
