public import CurlewCore
public import CurlewJSON
public import Foundation
public import FoundationNetworking

/// Returns the body as received.
public final class DataResponseSerializer: ResponseSerializer {
    public let dataPreprocessor: any DataPreprocessor
    public let emptyResponseCodes: Set<Int>
    public let emptyRequestMethods: Set<HTTPMethod>

    /// Creates a serializer. An empty body is an error unless the method or the status allows it.
    public init(
        dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
    }

    public func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> Data {
        if let error { throw error }
        return try serialize(data, method: request?.method, status: response?.statusCode)
    }

    /// Serializes a body without a Foundation response.
    func serialize(_ data: Data?, method: HTTPMethod?, status: Int?) throws -> Data {
        try prepared(data, method: method, status: status) ?? Data()
    }
}

/// Returns the URL of a downloaded file.
public struct URLResponseSerializer: DownloadResponseSerializerProtocol {
    /// Creates a serializer.
    public init() {}

    public func serializeDownload(
        request: URLRequest?,
        response: HTTPURLResponse?,
        fileURL: URL?,
        error: (any Error)?
    ) throws -> URL {
        if let error { throw error }
        guard let fileURL else { throw CurlewError.fileMissing(in: .decoding) }
        return fileURL
    }
}

/// Returns the body as text.
///
/// The encoding is the one you name, otherwise that of the response's `charset`, by the labels of the WHATWG Encoding
/// standard, otherwise ISO Latin 1.
public final class StringResponseSerializer: ResponseSerializer {
    public let dataPreprocessor: any DataPreprocessor
    /// The encoding of the text; `nil` uses the charset of the response.
    public let encoding: String.Encoding?
    public let emptyResponseCodes: Set<Int>
    public let emptyRequestMethods: Set<HTTPMethod>

    /// Creates a serializer. Without an encoding, it uses the response's charset.
    public init(
        dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.encoding = encoding
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
    }

    public func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> String {
        if let error { throw error }
        return try serialize(
            data,
            method: request?.method,
            status: response?.statusCode,
            contentType: (response?.value(forHTTPHeaderField: "Content-Type")).map { [$0] } ?? []
        )
    }

    /// Serializes a body without a Foundation response.
    func serialize(_ data: Data?, method: HTTPMethod?, status: Int?, contentType: [String]) throws -> String {
        guard let body = try prepared(data, method: method, status: status) else { return "" }
        return try ResponseText.decode(body, encoding: encoding, contentType: contentType)
    }
}

/// Finds a body's encoding and decodes it.
enum ResponseText {
    /// The text as UTF-8, if the response names no known charset and the bytes are valid; otherwise `nil`.
    static func unnamedUTF8(_ data: Data, contentType: [String]) -> String? {
        label(in: contentType) == nil ? CharsetLabel("utf-8")?.decode(data) : nil
    }

    /// The charset that the response names. `nil` if there is none, or it is unknown.
    private static func label(in contentType: [String]) -> CharsetLabel? {
        contentType.isEmpty ? nil : MediaType.effective(of: contentType)?.charset.flatMap(CharsetLabel.init)
    }

    /// The text in the encoding that is named, otherwise in that of the response, otherwise in ISO Latin 1.
    static func decode(_ data: Data, encoding: String.Encoding?, contentType: [String]) throws -> String {
        guard encoding == nil, let label = label(in: contentType) else {
            let encoding = encoding ?? .isoLatin1
            guard let text = String(data: data, encoding: encoding) else { throw CurlewError.bodyNotText(encoding) }
            return text
        }
        if let text = label.decode(data) { return text }
        if let encoding = label.encoding { throw CurlewError.bodyNotText(encoding) }
        throw CurlewError(
            .decodingFailed,
            phase: .decoding,
            reason: "Text in \(label.name) needs an encoding that Foundation lacks."
        )
    }
}

/// Decodes the body.
public final class DecodableResponseSerializer<T: Decodable & Sendable>: ResponseSerializer {
    public let dataPreprocessor: any DataPreprocessor
    /// The decoder of the body.
    public let decoder: any DataDecoder
    public let emptyResponseCodes: Set<Int>
    public let emptyRequestMethods: Set<HTTPMethod>

    /// Creates a serializer. An empty body is an error unless the method or the status allows it.
    public init(
        dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer.defaultDataPreprocessor,
        decoder: any DataDecoder = FastJSONDecoder(),
        emptyResponseCodes: Set<Int> = DecodableResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.decoder = decoder
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
    }

    public func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> T {
        if let error { throw error }
        return try serialize(data, method: request?.method, status: response?.statusCode)
    }

    /// Serializes a body without a Foundation response.
    func serialize(_ data: Data?, method: HTTPMethod?, status: Int?) throws -> T {
        guard let body = try prepared(data, method: method, status: status) else {
            guard let emptyType = T.self as? any EmptyResponse.Type, let value = emptyType.emptyValue() as? T else {
                throw CurlewError.bodyMissing(for: "\(T.self)")
            }
            return value
        }
        do {
            return try decoder.decode(T.self, from: body)
        } catch {
            throw CurlewError.bodyNotDecoded(error)
        }
    }
}

/// Decodes values from bytes: `FastJSONDecoder`, `JSONDecoder`, `PropertyListDecoder`, or one of your own.
public protocol DataDecoder: Sendable {
    /// Decodes a value from the bytes of a body.
    func decode<D: Decodable>(_ type: D.Type, from data: Data) throws -> D
}

extension DataDecoder {
    /// Decodes a value from a part of a stream. The error calls the part `name`.
    func value<T: Decodable>(_ type: T.Type, of data: Data, named name: String) throws(CurlewError) -> T {
        do {
            return try decode(type, from: data)
        } catch {
            throw .partNotDecoded(name, as: type, error)
        }
    }
}

extension CurlewError {
    /// The error of a part of a stream that does not decode.
    static func partNotDecoded(_ name: String, as type: Any.Type, _ cause: any Error) -> CurlewError {
        CurlewError(
            .decodingFailed, phase: .decoding, reason: "\(name) does not decode as \(type)", underlying: cause)
    }
}

extension FastJSONDecoder: DataDecoder {}

extension JSONDecoder: DataDecoder {}

extension PropertyListDecoder: DataDecoder {}

/// Makes dictionaries, arrays, strings and numbers from the body. `DecodableResponseSerializer` returns your types.
public final class JSONResponseSerializer: ResponseSerializer {
    public let dataPreprocessor: any DataPreprocessor
    public let emptyResponseCodes: Set<Int>
    public let emptyRequestMethods: Set<HTTPMethod>
    /// The options for reading the body.
    public let options: JSONSerialization.ReadingOptions

    /// Creates a serializer. An empty body is an error unless the method or the status allows it.
    public init(
        dataPreprocessor: any DataPreprocessor = JSONResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = JSONResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = JSONResponseSerializer.defaultEmptyRequestMethods,
        options: JSONSerialization.ReadingOptions = .allowFragments
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
        self.options = options
    }

    public func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> any Any & Sendable {
        if let error { throw error }
        guard let body = try prepared(data, method: request?.method, status: response?.statusCode) else {
            return NSNull()
        }
        do {
            return FoundationValue.sendable(try JSONSerialization.jsonObject(with: body, options: options))
        } catch {
            throw CurlewError.bodyNotJSON(error)
        }
    }
}

extension JSONResponseSerializer {
    /// The media types of JSON.
    public static let contentTypes: Set<String> = ["application/json", "text/json", "text/javascript"]
}

/// Converts values that Foundation has read from JSON or a property list to a Sendable type.
package enum FoundationValue {
    package static func sendable(_ value: Any) -> any Any & Sendable {
        switch value {
        case let dictionary as [String: Any]: dictionary.mapValues(sendable)
        case let array as [Any]: array.map(sendable)
        case let string as String: string
        case let date as Date: date
        case let data as Data: data
        case let number as NSNumber: number
        default: NSNull()
        }
    }
}

// MARK: - The values of awaiting methods

extension RunResult {
    /// Returns a body of the response as text.
    func text(from data: Data?, encoding: String.Encoding?) throws(CurlewError) -> String {
        guard let data, !data.isEmpty else { return "" }
        let contentType = response?.head.headers.values(for: "Content-Type") ?? []
        // Alamofire's serializer reads a body without a charset as Latin 1, which garbles most of today's texts.
        if encoding == nil, let text = ResponseText.unnamedUTF8(data, contentType: contentType) { return text }
        do {
            return try StringResponseSerializer(encoding: encoding).serialize(
                data,
                method: request?.method,
                status: response?.head.status,
                contentType: contentType
            )
        } catch {
            throw ErrorWrapping.serialization(error).located(in: self)
        }
    }

    /// Returns the value that is decoded from a body of the response.
    func value<T: Decodable & Sendable>(from data: Data?, decoder: any DataDecoder) throws(CurlewError) -> T {
        do {
            return try DecodableResponseSerializer<T>(decoder: decoder).serialize(
                data,
                method: request?.method,
                status: response?.head.status
            )
        } catch {
            throw ErrorWrapping.serialization(error).located(in: self)
        }
    }
}

extension CurlewError {
    /// Adds the media type and the first bytes of a body that is not in the expected form, usually a page of HTML. If
    /// the body is what its type says, but has other members, `underlying` describes the problem.
    private mutating func showUnreadable(_ result: RunResult) {
        guard code == .decodingFailed, responseBody == nil, let head = result.response?.head,
            let body = StatusCheck.excerpt(of: result.body), let text = StatusCheck.shown(body, of: head)
        else { return }
        let type = head.headers["Content-Type"]
        let isCorrupted = if case .dataCorrupted? = underlying as? DecodingError { true } else { false }
        guard isCorrupted || type?.lowercased().contains("json") != true else { return }
        responseBody = body
        reason += " The body (\(type.map { Redaction.excerpt(of: $0, limit: 60) } ?? "no media type")): \(text)"
    }

    /// Adds the URL, the status and the metrics of the response to an error.
    func located(in result: RunResult) -> CurlewError {
        var error = self
        if error.url == nil { error.url = result.response?.url }
        if error.responseCode == nil { error.responseCode = result.response?.head.status }
        if error.metrics == nil { error.metrics = result.metrics }
        error.showUnreadable(result)
        return error
    }
}
