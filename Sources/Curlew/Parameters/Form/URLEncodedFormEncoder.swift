internal import CurlewLocks
public import Foundation

/// Writes an `Encodable` value as `application/x-www-form-urlencoded` text.
///
///     try URLEncodedFormEncoder().encode(["a": ["b": 1]]) as String      // a%5Bb%5D=1
///
/// The root must be keyed: a struct, a class or a dictionary. Where pairs are alphabetized, elements of an array keep their
/// order only as far as their keys are equal: otherwise they are sorted by these, with `.indexInBrackets` as text (`a[10]`
/// before `a[2]`), and so are objects by their first keys.
public final class URLEncodedFormEncoder: Sendable {
    /// The errors of this encoder.
    public enum Error: Swift.Error, Equatable {
        /// The root is an array or a single value, shown here.
        case invalidRootObject(String)
    }

    /// Whether pairs are sorted by key, so that equal values give equal text. Otherwise they stand as encoded.
    public let alphabetizeKeyValuePairs: Bool
    /// How keys of array elements are written.
    public let arrayEncoding: ArrayEncoding
    /// How booleans are written.
    public let boolEncoding: BoolEncoding
    /// How `Data` is written.
    public let dataEncoding: DataEncoding
    /// How dates are written.
    public let dateEncoding: DateEncoding
    /// How the names of members become keys.
    public let keyEncoding: KeyEncoding
    /// How the keys of nested members are joined.
    public let keyPathEncoding: KeyPathEncoding
    /// How nil is written.
    public let nilEncoding: NilEncoding
    /// How a space is written.
    public let spaceEncoding: SpaceEncoding

    /// What is not percent-encoded. Where it is the default, `spaceEncoding: .plusReplaced` also leaves `*` as it is. In a URL
    /// that `URLEncodedFormParameterEncoder` makes, what a query cannot have (`#`, brackets, spaces, letters beyond ASCII) is
    /// percent-encoded all the same.
    public var allowedCharacters: CharacterSet {
        get { allowed.withLock { $0.characters } }
        set { allowed.withLock { $0 = Allowed(newValue, spaceEncoding) } }
    }

    private let allowed: Lock<Allowed>

    /// Creates an encoder; the defaults are Alamofire's.
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
        allowedCharacters: CharacterSet = .afURLQueryAllowed
    ) {
        self.alphabetizeKeyValuePairs = alphabetizeKeyValuePairs
        self.arrayEncoding = arrayEncoding
        self.boolEncoding = boolEncoding
        self.dataEncoding = dataEncoding
        self.dateEncoding = dateEncoding
        self.keyEncoding = keyEncoding
        self.keyPathEncoding = keyPathEncoding
        self.nilEncoding = nilEncoding
        self.spaceEncoding = spaceEncoding
        allowed = Lock(Allowed(allowedCharacters, spaceEncoding))
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
            guard characters == .afURLQueryAllowed else {
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
