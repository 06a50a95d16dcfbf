/// The words of a tape while it is written.
///
/// An array is one word, followed by its elements. An object is two words, followed by keys and values in turn; the
/// second word has the marks of its keys.
struct JSONTape {
    private(set) var words: UnsafeMutablePointer<UInt64>
    private(set) var count = 0
    private var capacity: Int
    private let textCount: Int

    /// Writes into what `memory` has, if it has something.
    init(textCount: Int, memory: JSONTapeMemory?) {
        self.textCount = textCount
        if let spare = memory?.take() {
            (words, capacity) = (spare.words, spare.capacity)
            return
        }
        // Each string and number is one word: about a tenth of the bytes in usual texts.
        capacity = max(16, min(textCount + 2, textCount / 8))
        words = .allocate(capacity: capacity)
    }

    /// What was written, and the room for it, which now belongs to the caller.
    func finished() -> JSONTapeWords { JSONTapeWords(words: words, capacity: capacity) }

    mutating func append(_ word: JSONWord) {
        words[count] = word.bits
        count &+= 1
    }

    /// Makes room for two more words, by what the text so far has needed.
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

/// A tape's room, which its owner deallocates.
struct JSONTapeWords {
    let words: UnsafeMutablePointer<UInt64>
    let capacity: Int
}

/// Keeps the room of one text's tape for the next one's: what decodes a stream of values has one.
///
/// Not `Sendable`: it belongs to one reader.
package final class JSONTapeMemory {
    /// Room for more is not kept: one large text must not hold memory for the rest of a stream.
    static let largest = 64 * 1024

    private var spare: JSONTapeWords?
    /// How often there was no room to use again.
    package private(set) var misses = 0

    package init() {}

    deinit { spare?.words.deallocate() }

    /// The room, or nil where there is none: also while a text is decoded inside another's decoding.
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
