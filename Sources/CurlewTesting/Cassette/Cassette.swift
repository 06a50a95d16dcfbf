public import CurlewCore
public import Foundation

/// Recorded exchanges, as they stand in a file.
///
/// The file is JSON with sorted keys, made to be read and reviewed: bodies are text where they are UTF-8.
public struct Cassette: Codable, Sendable, Equatable {
    /// The format of the file.
    public private(set) var version = 1
    /// In the order in which they ended.
    public var exchanges: [Exchange]

    /// Creates a cassette.
    public init(exchanges: [Exchange] = []) { self.exchanges = exchanges }

    /// Reads a file; throws what reading and decoding throw.
    public init(file: URL) throws {
        self = try JSONDecoder().decode(Cassette.self, from: Data(contentsOf: file))
    }

    /// Writes a file, replacing what is there at once or not at all.
    public func write(to file: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try (encoder.encode(self) + Data("\n".utf8)).write(to: file, options: .atomic)
    }

    /// One request and how it ended: with a response or an error.
    public struct Exchange: Codable, Sendable, Equatable {
        /// What was asked for.
        public var request: Request
        /// What came back; with `error` too, when it came only in part.
        public var response: Response?
        /// The error it ended with.
        public var error: Failure?

        /// Creates an exchange.
        public init(request: Request, response: Response? = nil, error: Failure? = nil) {
            self.request = request
            self.response = response
            self.error = error
        }
    }

    /// What was asked for.
    public struct Request: Codable, Sendable, Equatable {
        /// The HTTP method.
        public var method: String
        /// The absolute URL, without its secrets.
        public var url: String
        /// The fields that went out.
        public var headers: [Field]
        /// The body; nil when empty. One with content codings is kept as what it holds, without `Content-Encoding`.
        public var body: Body?

        /// Creates a request.
        public init(method: String, url: String, headers: [Field] = [], body: Body? = nil) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
        }
    }

    /// What came back.
    public struct Response: Codable, Sendable, Equatable {
        /// The status code.
        public var status: Int
        /// The reason phrase.
        public var reason: String
        /// The protocol version, `HTTP/1.1`.
        public var version: String
        /// The fields as received.
        public var headers: [Field]
        /// The body after content decoding; nil when empty.
        public var body: Body?
        /// Fields after the body.
        public var trailers: [Field]?

        /// Creates a response.
        public init(
            status: Int,
            reason: String = "",
            version: String = HTTPVersion.http1_1.rawValue,
            headers: [Field] = [],
            body: Body? = nil,
            trailers: [Field]? = nil
        ) {
            self.status = status
            self.reason = reason
            self.version = version
            self.headers = headers
            self.body = body
            self.trailers = trailers
        }
    }

    /// The error that came instead of a response's end.
    public struct Failure: Codable, Sendable, Equatable {
        /// `CurlewError.Code`'s name.
        public var code: String
        /// `CurlewError.Phase`'s name.
        public var phase: String
        /// What happened, in one sentence.
        public var reason: String

        /// Creates a failure.
        public init(code: String, phase: String, reason: String = "") {
            self.code = code
            self.phase = phase
            self.reason = reason
        }
    }

    /// A header field.
    public struct Field: Codable, Sendable, Equatable {
        /// The name as written.
        public var name: String
        /// The value.
        public var value: String

        /// Creates a field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Bytes, as text where they are UTF-8.
    public enum Body: Codable, Sendable, Equatable {
        /// A text.
        case text(String)
        /// Bytes that are not a text.
        case base64(Data)

        /// nil where there are no bytes.
        public init?(_ data: Data) {
            guard !data.isEmpty else { return nil }
            self = String(data: data, encoding: .utf8).map { .text($0) } ?? .base64(data)
        }

        /// The bytes.
        public var data: Data {
            switch self {
            case .text(let text): Data(text.utf8)
            case .base64(let data): data
            }
        }

        private enum CodingKeys: String, CodingKey { case text, base64 }

        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            if let text = try container.decodeIfPresent(String.self, forKey: .text) {
                self = .text(text)
            } else {
                self = .base64(try container.decode(Data.self, forKey: .base64))
            }
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            switch self {
            case .text(let text): try container.encode(text, forKey: .text)
            case .base64(let data): try container.encode(data, forKey: .base64)
            }
        }
    }
}

extension HTTPHeaders {
    var fields: [Cassette.Field] { map { Cassette.Field($0.name, $0.value) } }

    init(_ fields: [Cassette.Field]) {
        self.init(received: fields.map { HTTPHeader(name: $0.name, value: $0.value) })
    }
}
