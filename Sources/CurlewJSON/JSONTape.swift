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

/// The kind of a value on the tape.
enum JSONKind: UInt8 {
    case null
    case `false`
    case `true`
    /// Digits, optionally after a minus.
    case integer
    /// Any other sequence of the characters that numbers consist of.
    case number
    /// ASCII without escapes and control characters.
    case plainString
    /// Neither escapes nor control characters, but bytes above 127.
    case simpleString
    /// With a backslash or a control character.
    case escapedString
    case array
    /// An object with few keys, which are plain and differ from each other.
    case object
    /// An object whose keys need an index: many, not plain, or perhaps repeated.
    case indexedObject

    var isString: Bool { self == .plainString || self == .simpleString || self == .escapedString }
    var isObject: Bool { self == .object || self == .indexedObject }

    /// The words that Foundation's decoder uses for the kind in errors.
    var name: String {
        switch self {
        case .null: "null"
        case .false, .true: "bool"
        case .integer, .number: "number"
        case .plainString, .simpleString, .escapedString: "a string"
        case .array: "an array"
        case .object, .indexedObject: "a dictionary"
        }
    }
}

/// One word of the tape: a kind and two numbers of 30 bits.
///
/// For strings and numbers, the offset and the length in the text. For arrays and objects, the number of elements and
/// the place on the tape after the last one.
struct JSONWord {
    /// The size in bytes from which on texts do not fit. A tape has no more words than the text has bytes.
    static let limit = 1 << 30
    private static let mask = UInt64(limit - 1)

    var bits: UInt64

    init(bits: UInt64) { self.bits = bits }

    init(_ kind: JSONKind, _ first: Int = 0, _ second: Int = 0) {
        bits =
            UInt64(kind.rawValue) << 60 | UInt64(truncatingIfNeeded: first) << 30 | UInt64(truncatingIfNeeded: second)
    }

    // SAFETY: only the initializer with a kind makes words, and an enum without payloads is stored as the number of its
    // case. `JSONKind(rawValue:)` is not inlined and takes 2 % of the time of a decoding.
    var kind: JSONKind { unsafeBitCast(UInt8(truncatingIfNeeded: bits >> 60), to: JSONKind.self) }

    var isContainer: Bool { bits >> 60 >= UInt64(JSONKind.array.rawValue) }

    // Strings and numbers.
    var offset: Int { Int(bits >> 30 & Self.mask) }
    var length: Int { Int(bits & Self.mask) }

    // Arrays and objects.
    var count: Int { Int(bits >> 30 & Self.mask) }
    var end: Int { Int(bits & Self.mask) }

    /// The amount that one more element adds to `bits`.
    static let one: UInt64 = 1 << 30
}

/// The text is not JSON, or a number or string in it is malformed. `FastJSONDecoder` turns it into a `DecodingError`.
struct JSONFault: Error {}
