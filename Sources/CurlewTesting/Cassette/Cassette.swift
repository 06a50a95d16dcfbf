public import CurlewCore
public import Foundation

/// Recorded exchanges in the format of a cassette file.
///
/// The file is JSON with sorted keys, meant to be read and reviewed: UTF-8 bodies are stored as text.
public struct Cassette: Codable, Sendable, Equatable {
    /// The version of the file format.
    public private(set) var version = 1
    /// The exchanges, in the order in which they ended.
    public var exchanges: [Exchange]

    /// Creates a cassette.
    public init(exchanges: [Exchange] = []) { self.exchanges = exchanges }

    /// Reads a file; throws if it cannot be read or decoded.
    public init(file: URL) throws {
        self = try JSONDecoder().decode(Cassette.self, from: Data(contentsOf: file))
    }

    /// Writes a file atomically, replacing an existing one.
    public func write(to file: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try (encoder.encode(self) + Data("\n".utf8)).write(to: file, options: .atomic)
    }

    /// One request and its result: a response, an error, or both.
    public struct Exchange: Codable, Sendable, Equatable {
        /// The request.
        public var request: Request
        /// The response; `nil` if none arrived. With `error`, it is incomplete.
        public var response: Response?
        /// The error that ended the exchange; `nil` if it succeeded.
        public var error: Failure?

        /// Creates an exchange.
        public init(request: Request, response: Response? = nil, error: Failure? = nil) {
            self.request = request
            self.response = response
            self.error = error
        }
    }

    /// A recorded request.
    public struct Request: Codable, Sendable, Equatable {
        /// The HTTP method.
        public var method: String
        /// The absolute URL, without secrets.
        public var url: String
        /// The fields that were sent, without secrets.
        public var headers: [Field]
        /// The body; `nil` if empty. A body with content codings is recorded decoded, without `Content-Encoding`.
        public var body: Body?

        /// Creates a request.
        public init(method: String, url: String, headers: [Field] = [], body: Body? = nil) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
        }
    }

    /// A recorded response.
    public struct Response: Codable, Sendable, Equatable {
        /// The status code.
        public var status: Int
        /// The reason phrase.
        public var reason: String
        /// The protocol version, such as `HTTP/1.1`.
        public var version: String
        /// The received fields, without secrets.
        public var headers: [Field]
        /// The body after content decoding; `nil` if empty.
        public var body: Body?
        /// The fields after the body; `nil` if there are none.
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

    /// The error that ended an exchange.
    public struct Failure: Codable, Sendable, Equatable {
        /// The name of the `CurlewError.Code`.
        public var code: String
        /// The name of the `CurlewError.Phase`.
        public var phase: String
        /// One sentence about the failure.
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
        /// The name in its recorded case.
        public var name: String
        /// The value.
        public var value: String

        /// Creates a field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Bytes, stored as text if they are UTF-8.
    public enum Body: Codable, Sendable, Equatable {
        /// UTF-8 text.
        case text(String)
        /// Bytes that are not UTF-8.
        case base64(Data)

        /// Creates a body; `nil` if there are no bytes.
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
