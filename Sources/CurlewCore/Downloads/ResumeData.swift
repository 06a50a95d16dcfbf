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

    /// The URL of the file.
    package var url: URL
    /// The method of the request.
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

    /// Creates resume data.
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
