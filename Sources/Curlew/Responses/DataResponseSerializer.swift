public import CurlewCore
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
