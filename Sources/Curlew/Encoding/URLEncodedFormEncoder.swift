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
