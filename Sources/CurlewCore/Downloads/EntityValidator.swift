internal import Foundation

/// A validator that identifies one version of a file on a server, byte for byte (RFC 9110, 8.8).
///
/// Two parts may be combined only if they belong to the same version. Neither a weak entity tag proves that, nor a date
/// within which the server could have made two versions.
package enum EntityValidator: Hashable, Sendable {
    /// A strong entity tag, with its quotes.
    case entityTag(String)
    /// A modification date, verbatim: dates are compared as text and never reformatted.
    case lastModified(String)

    /// Reads the validator of a response; `nil` if it has none that is strong enough for ranges.
    package init?(_ headers: HTTPHeaders) {
        if let tag = headers.value(for: "ETag") {
            // With a weak tag the date must not be used, either (RFC 9110, 13.1.5).
            guard Self.isStrong(tag) else { return nil }
            self = .entityTag(tag)
        } else if let modified = headers.value(for: "Last-Modified") {
            guard Self.isStrong(modified, sentAt: headers.value(for: "Date")) else { return nil }
            self = .lastModified(modified)
        } else {
            return nil
        }
    }

    /// The value of `If-Range`.
    package var headerValue: String {
        switch self {
        case .entityTag(let tag): tag
        case .lastModified(let date): date
        }
    }

    /// Whether a response proves that the file has another version. A missing validator is no contradiction.
    package func isContradicted(by headers: HTTPHeaders) -> Bool {
        switch self {
        case .entityTag(let tag):
            guard let other = headers.value(for: "ETag") else { return false }
            return other != tag
        case .lastModified(let date):
            // Only the dates are compared. The earlier response had no entity tag, so a new tag proves nothing.
            guard let other = headers.value(for: "Last-Modified") else { return false }
            return other != date
        }
    }

    private static func isStrong(_ tag: String) -> Bool {
        let bytes = Array(tag.utf8)
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else {
            return false
        }
        return bytes[1..<(bytes.count - 1)].allSatisfy { $0 != UInt8(ascii: "\"") && $0 > 0x20 && $0 != 0x7F }
    }

    /// Whether a date is strong: the server wrote its response at least a second later (RFC 9110, 8.8.2.2). A
    /// modification date counts as strong if the response's own date is missing or unreadable.
    private static func isStrong(_ modified: String, sentAt sent: String?) -> Bool {
        // The reference date only completes years without a century. It is the same for both dates, so their difference
        // is right.
        let present = Date(timeIntervalSince1970: 1_800_000_000)
        guard let modified = HTTPDate.date(from: modified, now: present) else { return false }
        guard let sent = sent.flatMap({ HTTPDate.date(from: $0, now: present) }) else { return true }
        return sent.timeIntervalSince(modified) >= 1
    }
}

extension EntityValidator: Codable {
    private enum CodingKeys: String, CodingKey { case entityTag, lastModified }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let tag = try container.decodeIfPresent(String.self, forKey: .entityTag) {
            guard Self.isStrong(tag) else { throw Self.invalid(.entityTag, container) }
            self = .entityTag(tag)
        } else {
            let date = try container.decode(String.self, forKey: .lastModified)
            guard Self.isStrong(date, sentAt: nil) else { throw Self.invalid(.lastModified, container) }
            self = .lastModified(date)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .entityTag(let tag): try container.encode(tag, forKey: .entityTag)
        case .lastModified(let date): try container.encode(date, forKey: .lastModified)
        }
    }

    private static func invalid(
        _ key: CodingKeys,
        _ container: KeyedDecodingContainer<CodingKeys>
    ) -> DecodingError {
        .dataCorruptedError(forKey: key, in: container, debugDescription: "not a strong validator")
    }
}
