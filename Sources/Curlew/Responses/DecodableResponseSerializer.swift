public import CurlewCore
public import Foundation
public import FoundationNetworking

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
