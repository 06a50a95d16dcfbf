public import Curlew
public import Foundation
public import FoundationNetworking

// Alamofire's members of the protocols, for `response(responseSerializer: .data)` and the like.

extension DataResponseSerializerProtocol where Self == DataResponseSerializer {
    /// Returns the body as received.
    public static var data: DataResponseSerializer { DataResponseSerializer() }

    /// Returns the body as received, with your rules for empty bodies.
    public static func data(
        dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> DataResponseSerializer {
        DataResponseSerializer(
            dataPreprocessor: dataPreprocessor,
            emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods
        )
    }
}

extension DownloadResponseSerializerProtocol where Self == URLResponseSerializer {
    /// Returns the URL of the file.
    public static var url: URLResponseSerializer { URLResponseSerializer() }
}

extension DataResponseSerializerProtocol where Self == StringResponseSerializer {
    /// Returns the body as text.
    public static var string: StringResponseSerializer { StringResponseSerializer() }

    /// Returns the body as text, with your encoding and rules for empty bodies.
    public static func string(
        dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
    ) -> StringResponseSerializer {
        StringResponseSerializer(
            dataPreprocessor: dataPreprocessor,
            encoding: encoding,
            emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods
        )
    }
}

extension DataResponseSerializerProtocol {
    /// Decodes the body.
    public static func decodable<T: Decodable & Sendable>(
        of type: T.Type,
        dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer<T>.defaultDataPreprocessor,
        decoder: any DataDecoder = FastJSONDecoder(),
        emptyResponseCodes: Set<Int> = DecodableResponseSerializer<T>.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer<T>.defaultEmptyRequestMethods
    ) -> DecodableResponseSerializer<T> where Self == DecodableResponseSerializer<T> {
        DecodableResponseSerializer<T>(
            dataPreprocessor: dataPreprocessor,
            decoder: decoder,
            emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods
        )
    }
}

extension ResponseSerializer {
    /// Whether the request's method allows an empty body; `nil` without a method.
    public func requestAllowsEmptyResponseData(_ request: URLRequest?) -> Bool? {
        request.flatMap(\.method).map(emptyRequestMethods.contains)
    }

    /// Whether the response's status allows an empty body; `nil` without a response.
    public func responseAllowsEmptyResponseData(_ response: HTTPURLResponse?) -> Bool? {
        (response?.statusCode).map(emptyResponseCodes.contains)
    }
}
