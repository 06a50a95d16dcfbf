public import Foundation

extension URLEncodedFormEncoder {
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
