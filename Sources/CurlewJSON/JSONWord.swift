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
