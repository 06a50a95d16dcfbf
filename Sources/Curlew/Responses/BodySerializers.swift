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

    private static func label(in contentType: [String]) -> CharsetLabel? {
        contentType.isEmpty ? nil : MediaType.effective(of: contentType)?.charset.flatMap(CharsetLabel.init)
    }

    static func decode(_ data: Data, encoding: String.Encoding?, contentType: [String]) throws -> String {
        if let encoding {
            guard let text = String(data: data, encoding: encoding) else { throw failure(encoding) }
            return text
        }
        guard let label = label(in: contentType) else {
            guard let text = String(data: data, encoding: .isoLatin1) else { throw failure(.isoLatin1) }
            return text
        }
        guard let text = label.decode(data) else {
            guard let encoding = label.encoding else {
                throw CurlewError(
                    .decodingFailed,
                    phase: .decoding,
                    reason: "Text in \(label.name) needs an encoding that Foundation lacks."
                )
            }
            throw failure(encoding)
        }
        return text
    }

    private static func failure(_ encoding: String.Encoding) -> CurlewError {
        .bodyNotText(encoding)
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
            throw CurlewError(
                .decodingFailed, phase: .decoding, reason: "\(name) does not decode as \(T.self)", underlying: error)
        }
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
