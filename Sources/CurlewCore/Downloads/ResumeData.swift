package import Foundation

/// What a broken or cancelled download leaves behind, so that a later one can go on: a small JSON text.
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
/// `validator` has `entityTag` (strong) or `lastModified`. A download in segments adds `segments`, each
/// with `first` and `end` (not included) and how much of it was `written`. The bytes themselves are in
/// `file`, which is only accepted if a download has left it there. Credentials are left out: user information in the
/// URL, and headers that hold a secret. When read, such headers are ignored.
/// The URL keeps its query, without which there would be nothing to ask for; treat the data accordingly.
package struct ResumeData: Hashable, Sendable {
    /// The version that is written.
    package static let currentVersion = 1

    /// Where the file is.
    package var url: URL
    /// How it was asked for.
    package var method: HTTPMethod
    /// The request's own fields, without secrets and without those that a resumed request sets itself.
    package var headers: [HTTPHeader]
    /// What tells whether the server's file is still the same.
    package var validator: EntityValidator
    /// How many bytes of the file there are.
    package var bytesWritten: Int64
    /// Length of the whole file, where the server told.
    package var expectedTotal: Int64?
    /// Path of the file with the bytes so far.
    package var file: String
    /// Which parts of the file are there; nil where it is simply the first `bytesWritten` bytes.
    package var segments: [FileSegment]?

    /// Makes resume data.
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

    /// Reads resume data; what is not sound is `.resumeRejected`.
    package init(_ data: Data) throws(CurlewError) {
        do {
            self = try JSONDecoder().decode(ResumeData.self, from: data)
        } catch {
            throw CurlewError(.resumeRejected, phase: .creation, reason: "not resume data", underlying: error)
        }
    }

    /// How long the file has to be for those bytes to be in it. Segments are written to their places, so there may be
    /// holes in between.
    package var lengthOfFile: Int64 {
        segments?.filter { $0.written > 0 }.map(\.position).max() ?? (segments == nil ? bytesWritten : 0)
    }

    /// The JSON text.
    package var encoded: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and integers only: it cannot fail.
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
        // Better one that nothing can be asked for than one with a password in a file.
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
