public import Curlew
public import Foundation

// The options of an encoder, which Alamofire lets a program read.
extension URLEncodedFormEncoder {
    /// Whether pairs are sorted by key, so that equal values give equal text. Otherwise pairs keep the order of
    /// encoding.
    public var alphabetizeKeyValuePairs: Bool { settings.alphabetizeKeyValuePairs }
    /// The notation for keys of array elements.
    public var arrayEncoding: ArrayEncoding { settings.arrayEncoding }
    /// The notation for booleans.
    public var boolEncoding: BoolEncoding { settings.boolEncoding }
    /// The notation for `Data`.
    public var dataEncoding: DataEncoding { settings.dataEncoding }
    /// The notation for dates.
    public var dateEncoding: DateEncoding { settings.dateEncoding }
    /// The conversion of member names to keys.
    public var keyEncoding: KeyEncoding { settings.keyEncoding }
    /// The notation for keys of nested members.
    public var keyPathEncoding: KeyPathEncoding { settings.keyPathEncoding }
    /// The notation for nil.
    public var nilEncoding: NilEncoding { settings.nilEncoding }
    /// The notation for a space.
    public var spaceEncoding: SpaceEncoding { settings.spaceEncoding }

    /// The characters that are not percent-encoded. With the default set, `spaceEncoding: .plusReplaced` also leaves
    /// `*` as it is.
    public var allowedCharacters: CharacterSet {
        get { unescapedCharacters }
        set { unescapedCharacters = newValue }
    }
}

extension CharacterSet {
    /// The characters that RFC 3986 allows in a query.
    public static let afURLQueryAllowed = CharacterSet.queryAllowed
}
