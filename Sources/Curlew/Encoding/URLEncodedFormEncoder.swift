internal import CurlewCore
internal import CurlewLocks
public import Foundation

/// Writes an `Encodable` value as `application/x-www-form-urlencoded` text.
///
///     try URLEncodedFormEncoder().encode(["a": ["b": 1]]) as String      // a%5Bb%5D=1
///
/// The root must be keyed: a struct, a class or a dictionary. If pairs are alphabetized, elements of an array keep
/// their order only if their keys are equal. Otherwise elements are sorted by their keys as text (with
/// `.indexInBrackets`, `a[10]` before `a[2]`), and elements that are objects by their first keys.
public final class URLEncodedFormEncoder: Sendable {
    /// The errors of this encoder.
    public enum Error: Swift.Error, Equatable {
        /// The root is an array or a single value, shown here.
        case invalidRootObject(String)
    }

    /// The options, in the order of the initializer's parameters.
    package struct Settings: Sendable {
        /// Whether pairs are sorted by key, so that equal values give equal text. Otherwise pairs keep the order of
        /// encoding.
        package let alphabetizeKeyValuePairs: Bool
        /// The notation for keys of array elements.
        package let arrayEncoding: ArrayEncoding
        /// The notation for booleans.
        package let boolEncoding: BoolEncoding
        /// The notation for `Data`.
        package let dataEncoding: DataEncoding
        /// The notation for dates.
        package let dateEncoding: DateEncoding
        /// The conversion of member names to keys.
        package let keyEncoding: KeyEncoding
        /// The notation for keys of nested members.
        package let keyPathEncoding: KeyPathEncoding
        /// The notation for nil.
        package let nilEncoding: NilEncoding
        /// The notation for a space.
        package let spaceEncoding: SpaceEncoding
    }

    package let settings: Settings

    /// The characters that are not percent-encoded. With the default set, `spaceEncoding: .plusReplaced` also leaves
    /// `*` as it is. In a URL that `URLEncodedFormParameterEncoder` makes, characters that a query cannot contain (`#`,
    /// brackets, spaces, letters beyond ASCII) are always percent-encoded.
    package var unescapedCharacters: CharacterSet {
        get { allowed.withLock { $0.characters } }
        set { allowed.withLock { $0 = Allowed(newValue, settings.spaceEncoding) } }
    }

    private let allowed: Lock<Allowed>

    /// Creates an encoder; the defaults are Alamofire's.
    ///
    /// `allowedCharacters` are not percent-encoded; `nil` means those that RFC 3986 allows in a query.
    public init(
        alphabetizeKeyValuePairs: Bool = true,
        arrayEncoding: ArrayEncoding = .brackets,
        boolEncoding: BoolEncoding = .numeric,
        dataEncoding: DataEncoding = .base64,
        dateEncoding: DateEncoding = .deferredToDate,
        keyEncoding: KeyEncoding = .useDefaultKeys,
        keyPathEncoding: KeyPathEncoding = .brackets,
        nilEncoding: NilEncoding = .dropKey,
        spaceEncoding: SpaceEncoding = .percentEscaped,
        allowedCharacters: CharacterSet? = nil
    ) {
        settings = Settings(
            alphabetizeKeyValuePairs: alphabetizeKeyValuePairs,
            arrayEncoding: arrayEncoding,
            boolEncoding: boolEncoding,
            dataEncoding: dataEncoding,
            dateEncoding: dateEncoding,
            keyEncoding: keyEncoding,
            keyPathEncoding: keyPathEncoding,
            nilEncoding: nilEncoding,
            spaceEncoding: spaceEncoding
        )
        allowed = Lock(Allowed(allowedCharacters ?? .queryAllowed, spaceEncoding))
    }

    /// Encodes a value as a string.
    public func encode(_ value: any Encodable) throws -> String {
        let root = FormNode()
        try root.encode(value, options: FormValueOptions(self), codingPath: [])
        guard case .object(let members) = root.content else { throw Error.invalidRootObject("\(root.content)") }
        return FormWriter(self, escaping: allowed.withLock { $0.escaping }).text(of: members.list)
    }

    /// Encodes a value as UTF-8 data.
    public func encode(_ value: any Encodable) throws -> Data {
        let text: String = try encode(value)
        return Data(text.utf8)
    }

    private struct Allowed: Sendable {
        let characters: CharacterSet
        let escaping: QueryEscaping

        init(_ characters: CharacterSet, _ space: SpaceEncoding) {
            self.characters = characters
            guard characters == .queryAllowed else {
                escaping = QueryEscaping(allowed: characters)
                return
            }
            switch space {
            case .percentEscaped: escaping = .standard
            case .plusReplaced: escaping = .form
            }
        }
    }
}

extension URLEncodedFormEncoder.Error: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .invalidRootObject(let object): "URLEncodedFormEncoder requires a keyed root object, not \(object)."
        }
    }
}

extension URLEncodedFormEncoder {
    /// The notation for the key of an array's element.
    public enum ArrayEncoding: Sendable {
        /// `key[]`
        case brackets
        /// `key`
        case noBrackets
        /// `key[0]`
        case indexInBrackets
        /// Makes the key with a closure.
        case custom(@Sendable (_ key: String, _ index: Int) -> String)

        func encode(_ key: String, atIndex index: Int) -> String {
            switch self {
            case .brackets: "\(key)[]"
            case .noBrackets: key
            case .indexInBrackets: "\(key)[\(index)]"
            case .custom(let encode): encode(key, index)
            }
        }
    }

    /// The notation that appends the key of a nested member to its parent's.
    public struct KeyPathEncoding: Sendable {
        /// `parent[child]`
        public static let brackets = KeyPathEncoding { "[\($0)]" }
        /// `parent.child`
        public static let dots = KeyPathEncoding { ".\($0)" }

        private let encoding: @Sendable (_ subkey: String) -> String

        /// Creates an encoding from a closure that turns a nested key into the text after the parent's key.
        public init(encoding: @escaping @Sendable (_ subkey: String) -> String) { self.encoding = encoding }

        func encodeKeyPath(_ keyPath: String) -> String { encoding(keyPath) }
    }

    /// The conversion of member names to keys.
    public enum KeyEncoding: Sendable {
        /// Leaves keys as they are.
        case useDefaultKeys
        /// `oneTwoThree` → `one_two_three`
        case convertToSnakeCase
        /// `oneTwoThree` → `one-two-three`
        case convertToKebabCase
        /// `oneTwoThree` → `OneTwoThree`
        case capitalized
        /// `oneTwoThree` → `ONETWOTHREE`
        case uppercased
        /// `oneTwoThree` → `onetwothree`
        case lowercased
        /// Makes the key with a closure.
        case custom(@Sendable (_ key: String) -> String)

        func encode(_ key: String) -> String {
            switch self {
            case .useDefaultKeys: key
            case .convertToSnakeCase: Self.words(of: key, joinedBy: "_")
            case .convertToKebabCase: Self.words(of: key, joinedBy: "-")
            case .capitalized: key.prefix(1).uppercased() + key.dropFirst()
            case .uppercased: key.uppercased()
            case .lowercased: key.lowercased()
            case .custom(let encode): encode(key)
            }
        }

        /// Splits before an upper-case letter that follows a lower-case one, and before the last upper-case letter
        /// of a run that a lower-case one follows: `myURLProperty` is `my`, `url`, `property`.
        private static func words(of key: String, joinedBy separator: String) -> String {
            let characters = Array(key)
            var result = ""
            for (index, character) in characters.enumerated() {
                if character.isUppercase, index > 0 {
                    let follows = characters[index - 1]
                    let startsWord = index + 1 < characters.count && characters[index + 1].isLowercase
                    if follows.isLowercase || follows.isNumber || (follows.isUppercase && startsWord) {
                        result += separator
                    }
                }
                result += character.lowercased()
            }
            return result
        }
    }

    /// The notation for a `Bool`.
    public enum BoolEncoding: Sendable {
        /// `1` and `0`
        case numeric
        /// `true` and `false`
        case literal

        func encode(_ value: Bool) -> String {
            switch self {
            case .numeric: value ? "1" : "0"
            case .literal: value ? "true" : "false"
            }
        }
    }

    /// The notation for `Data`.
    public enum DataEncoding: Sendable {
        /// As an array of byte values.
        case deferredToData
        /// Base64, padded.
        case base64
        /// Makes the text with a closure.
        case custom(@Sendable (Data) throws -> String)

        func encode(_ data: Data) throws -> String? {
            switch self {
            case .deferredToData: nil
            case .base64: data.base64EncodedString()
            case .custom(let encode): try encode(data)
            }
        }
    }

    /// The notation for a `Date`.
    public enum DateEncoding: Sendable {
        /// Seconds since 2001.
        case deferredToDate
        /// Seconds since 1970, with a fraction.
        case secondsSince1970
        /// Milliseconds since 1970, with a fraction.
        case millisecondsSince1970
        /// `2001-01-01T00:02:03Z`
        case iso8601
        /// The text that the formatter makes.
        case formatted(DateFormatter)
        /// Makes the text with a closure.
        case custom(@Sendable (Date) throws -> String)

        func encode(_ date: Date) throws -> String? {
            switch self {
            case .deferredToDate: nil
            case .secondsSince1970: String(date.timeIntervalSince1970)
            case .millisecondsSince1970: String(date.timeIntervalSince1970 * 1000)
            case .iso8601: date.formatted(.iso8601)
            case .formatted(let formatter): formatter.string(from: date)
            case .custom(let encode): try encode(date)
            }
        }
    }

    /// The notation for nil.
    public struct NilEncoding: Sendable {
        /// The key is left out.
        public static let dropKey = NilEncoding { nil }
        /// `key=`
        public static let dropValue = NilEncoding { "" }
        /// `key=null`
        public static let null = NilEncoding { "null" }

        private let encoding: @Sendable () -> String?

        /// Creates an encoding from a closure. If it returns `nil`, the key is left out.
        public init(encoding: @escaping @Sendable () -> String?) { self.encoding = encoding }

        func encodeNil() -> String? { encoding() }
    }

    /// The notation for a space.
    public enum SpaceEncoding: Sendable {
        /// `%20`
        case percentEscaped
        /// `+`, as in the forms of browsers, which also leave `*` as it is
        case plusReplaced
    }
}

/// The options that apply while values are encoded.
struct FormValueOptions: Sendable {
    let bool: URLEncodedFormEncoder.BoolEncoding
    let data: URLEncodedFormEncoder.DataEncoding
    let date: URLEncodedFormEncoder.DateEncoding
    let null: URLEncodedFormEncoder.NilEncoding

    init(_ encoder: URLEncodedFormEncoder) {
        bool = encoder.settings.boolEncoding
        data = encoder.settings.dataEncoding
        date = encoder.settings.dateEncoding
        null = encoder.settings.nilEncoding
    }
}

extension CharacterSet {
    /// The characters that stay unescaped in a query: the query characters of RFC 3986 without the general and sub
    /// delimiters `:#[]@!$&'()*+,;=`; `?` and `/` stay, as section 3.4 allows.
    package static let queryAllowed: CharacterSet = {
        let delimiters = CharacterSet(charactersIn: ":#[]@!$&'()*+,;=")
        return CharacterSet.urlQueryAllowed.subtracting(delimiters)
    }()
}

/// Percent-encodes strings byte by byte, with a table of 128 bits for ASCII.
package struct QueryEscaping: Sendable {
    package static let standard = QueryEscaping(allowed: .queryAllowed)
    /// For forms, which write spaces as plus signs and leave `*` as it is (URL standard, 5.2).
    static let form = QueryEscaping(allowed: .queryAllowed.union(CharacterSet(charactersIn: "*")))

    private let low: UInt64
    private let high: UInt64
    /// The allowed characters beyond ASCII, which the table cannot express. `nil` if there are none.
    private let beyondASCII: CharacterSet?

    init(allowed: CharacterSet) {
        var (low, high): (UInt64, UInt64) = (0, 0)
        for byte in UInt8(0)..<128 where allowed.contains(Unicode.Scalar(byte)) {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
        }
        self.low = low
        self.high = high
        let rest = allowed.subtracting(CharacterSet(charactersIn: Unicode.Scalar(0)..."\u{7F}"))
        beyondASCII = rest.isEmpty ? nil : rest
    }

    package func escape(_ string: String) -> String {
        if let beyondASCII { return escape(string, beyondASCII: beyondASCII) }
        if string.utf8.allSatisfy(isAllowed) { return string }
        return String(decoding: escaped(string.utf8), as: UTF8.self)
    }

    /// Percent-encodes bytes of any encoding that extends ASCII.
    package func escape(bytes: some Collection<UInt8>) -> String { String(decoding: escaped(bytes), as: UTF8.self) }

    /// Escapes everything in the query that a URL cannot contain (RFC 3986, 3.4), because a caller may allow such
    /// characters. Existing escapes stay; a percent sign that begins none is escaped.
    static func fitForURL(_ query: String) -> String {
        if query.utf8.allSatisfy(inURL.isAllowed) { return query }
        let bytes = Array(query.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for (index, byte) in bytes.enumerated() {
            let stands = byte == 0x25 ? isEscape(bytes[index...]) : inURL.isAllowed(byte)
            if stands { result.append(byte) } else { result += inURL.escaped(CollectionOfOne(byte)) }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static let inURL = QueryEscaping(allowed: .urlQueryAllowed)

    private static func isEscape(_ bytes: ArraySlice<UInt8>) -> Bool {
        let digits = bytes.dropFirst().prefix(2)
        return digits.count == 2 && digits.allSatisfy(ASCII.isHexDigit)
    }

    private func isAllowed(_ byte: UInt8) -> Bool {
        byte < 64 ? low >> UInt64(byte) & 1 == 1 : byte < 128 && high >> UInt64(byte - 64) & 1 == 1
    }

    private func escaped(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count * 3)
        for byte in bytes {
            if isAllowed(byte) {
                result.append(byte)
            } else {
                result.append(0x25)
                result.append(Self.digits[Int(byte >> 4)])
                result.append(Self.digits[Int(byte & 15)])
            }
        }
        return result
    }

    private func escape(_ string: String, beyondASCII: CharacterSet) -> String {
        var result: [UInt8] = []
        for scalar in string.unicodeScalars {
            let bytes = Array(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            result += beyondASCII.contains(scalar) ? bytes : escaped(bytes)
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
}
