package import Foundation

/// The state of a broken or cancelled download, from which a later one can continue: a small JSON text.
///
///     {
///       "curlewResumeData": 1,
///       "url": "https://example.com/disk.img", "method": "GET",
///       "headers": [{"name": "Accept", "value": "*/*"}],
///       "validator": {"entityTag": "\"5e1f\""},
///       "bytesWritten": 1048576, "expectedTotal": 4194304,
///       "file": "/srv/in/.curlew-2jq5ms7vc6n4k-1g61uvemlsj5k.part"
///     }
///
/// `validator` has `entityTag` (strong) or `lastModified`. A download in segments adds `segments`, each with `first`,
/// `end` (not included) and the number of bytes `written`. The received bytes are in `file`, which is accepted only if
/// its name is one that downloads use. Credentials are omitted when writing and ignored when reading: user information
/// in the URL, and headers that hold a secret. The query of the URL is kept, because the request needs it; treat the
/// data accordingly.
package struct ResumeData: Hashable, Sendable {
    /// The format version that is written.
    package static let currentVersion = 1

    package var url: URL
    package var method: HTTPMethod
    /// The request's own fields, without secrets and without those that a resumed request sets itself.
    package var headers: [HTTPHeader]
    /// The validator that identifies the version of the server's file.
    package var validator: EntityValidator
    /// The number of bytes received.
    package var bytesWritten: Int64
    /// The length of the whole file, if the server has stated it.
    package var expectedTotal: Int64?
    /// The path of the file with the received bytes.
    package var file: String
    /// The segments of the file with their progress; `nil` if the file simply holds the first `bytesWritten` bytes.
    package var segments: [FileSegment]?

    package init(
        url: URL,
        headers: HTTPHeaders = [:],
        validator: EntityValidator,
        bytesWritten: Int64,
        expectedTotal: Int64?,
        file: String,
        segments: [FileSegment]? = nil
    ) {
        self.url = Self.withoutUser(url)
        method = .get
        self.headers = headers.filter { !Self.isLeftOut($0) }
        self.validator = validator
        self.bytesWritten = bytesWritten
        self.expectedTotal = expectedTotal
        self.file = file
        self.segments = segments
    }

    /// Reads resume data. Throws `.resumeRejected` if it is invalid.
    package init(_ data: Data) throws(CurlewError) {
        do {
            self = try JSONDecoder().decode(ResumeData.self, from: data)
        } catch {
            throw CurlewError(.resumeRejected, phase: .creation, reason: "not resume data", underlying: error)
        }
    }

    /// The length that the file must have to contain the received bytes. Segments are written at their offsets, so the
    /// file may have holes.
    package var lengthOfFile: Int64 {
        segments?.filter { $0.written > 0 }.map(\.position).max() ?? (segments == nil ? bytesWritten : 0)
    }

    /// The JSON text.
    package var encoded: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding strings and integers cannot fail.
        return (try? encoder.encode(self)) ?? Data()
    }

    /// Whether a field is secret, or one that a resumed request sets itself.
    private static func isLeftOut(_ header: HTTPHeader) -> Bool {
        SecretNames.contains(header) || setByResuming.contains(ASCII.lowercased(header.name))
    }

    private static let setByResuming: Set<String> = [
        "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "accept-encoding",
        "host", "content-length", "transfer-encoding", "connection",
    ]

    private static func withoutUser(_ url: URL) -> URL {
        guard url.user != nil || url.password != nil else { return url }
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        parts?.user = nil
        parts?.password = nil
        // A useless URL is better than a password in a file.
        return parts?.url ?? URL(filePath: "/")
    }
}

extension ResumeData: Codable {
    private enum CodingKeys: String, CodingKey {
        case version = "curlewResumeData"
        case url, method, headers, validator, bytesWritten, expectedTotal, file, segments
    }

    private struct Field: Codable {
        var name: String
        var value: String
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func check(_ isSound: Bool, _ key: CodingKeys) throws {
            guard !isSound else { return }
            throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: "unsound value")
        }
        try check(container.decode(Int.self, forKey: .version) == Self.currentVersion, .version)

        let text = try container.decode(String.self, forKey: .url)
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), url.host() != nil,
            scheme == "http" || scheme == "https"
        else {
            throw DecodingError.dataCorruptedError(forKey: .url, in: container, debugDescription: "not an HTTP URL")
        }
        self.url = url
        method = HTTPMethod(rawValue: try container.decode(String.self, forKey: .method))
        try check(method == .get, .method)

        let fields = try container.decode([Field].self, forKey: .headers).map {
            HTTPHeader(name: $0.name, value: $0.value)
        }
        try check(fields.allSatisfy(\.isValid), .headers)
        headers = fields.filter { !Self.isLeftOut($0) }

        validator = try container.decode(EntityValidator.self, forKey: .validator)
        bytesWritten = try container.decode(Int64.self, forKey: .bytesWritten)
        try check(bytesWritten >= 0, .bytesWritten)
        expectedTotal = try container.decodeIfPresent(Int64.self, forKey: .expectedTotal)
        if let expectedTotal { try check(expectedTotal >= bytesWritten, .expectedTotal) }
        file = try container.decode(String.self, forKey: .file)
        try check(file.hasPrefix("/") && !file.utf8.contains(0), .file)

        segments = try container.decodeIfPresent([FileSegment].self, forKey: .segments)
        if let segments {
            try check(FileSegment.areSound(segments, total: expectedTotal, written: bytesWritten), .segments)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.currentVersion, forKey: .version)
        try container.encode(url.absoluteString, forKey: .url)
        try container.encode(method.rawValue, forKey: .method)
        try container.encode(headers.map { Field(name: $0.name, value: $0.value) }, forKey: .headers)
        try container.encode(validator, forKey: .validator)
        try container.encode(bytesWritten, forKey: .bytesWritten)
        try container.encodeIfPresent(expectedTotal, forKey: .expectedTotal)
        try container.encode(file, forKey: .file)
        try container.encodeIfPresent(segments, forKey: .segments)
    }
}

/// The name of the file that a download writes to: `.curlew-NUMBER-CHECK.part`.
///
/// Resume data names a file and may be forged. A download therefore writes only to files with such a name. The check
/// part is computed from the number, so files of other programs do not have such a name by chance. The number is
/// random, so the name is known only to those who have the resume data or can list the directory. Unlike an extended
/// attribute, a name exists on every file system; unlike a signature, it needs no key that outlives the process.
package enum PartialFileName {
    private static let prefix = ".curlew-"
    private static let suffix = ".part"
    /// The number of digits of the largest number in base 36.
    private static let width = 13

    /// Returns the name with this number, which must be random.
    package static func make(_ number: UInt64) -> String {
        prefix + digits(number) + "-" + digits(check(of: number)) + suffix
    }

    /// Whether a name has the form that `make` produces.
    package static func isMade(_ name: some StringProtocol) -> Bool {
        guard name.utf8.count == prefix.utf8.count + 2 * width + 1 + suffix.utf8.count, name.hasPrefix(prefix),
            let number = UInt64(name.dropFirst(prefix.count).prefix(width), radix: 36)
        else { return false }
        return name == make(number)
    }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 36)
        return String(repeating: "0", count: width - digits.count) + digits
    }

    /// FNV-1a over a phrase and the number. It excludes names that match by chance; it is not a secret.
    private static func check(of number: UInt64) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in "Curlew's partial file ".utf8 { mix(byte, into: &hash) }
        for shift in stride(from: 0, to: UInt64.bitWidth, by: 8) {
            mix(UInt8(truncatingIfNeeded: number >> shift), into: &hash)
        }
        return hash
    }

    private static func mix(_ byte: UInt8, into hash: inout UInt64) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
}
