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
