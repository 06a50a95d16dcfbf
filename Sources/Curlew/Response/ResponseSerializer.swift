public import CurlewCore
internal import CurlewFailures
public import Foundation
public import FoundationNetworking

/// Turns the body of a response into a value.
public protocol DataResponseSerializerProtocol<SerializedObject>: Sendable {
    /// What a response becomes.
    associatedtype SerializedObject: Sendable

    /// `error` is the request's own, if it has failed: most serializers only throw it on.
    func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> SerializedObject
}

/// Turns a downloaded file into a value.
public protocol DownloadResponseSerializerProtocol<SerializedObject>: Sendable {
    /// What a download becomes.
    associatedtype SerializedObject: Sendable

    /// `error` is the request's own, if it has failed: most serializers only throw it on.
    func serializeDownload(
        request: URLRequest?,
        response: HTTPURLResponse?,
        fileURL: URL?,
        error: (any Error)?
    ) throws -> SerializedObject
}

/// A serializer for data and downloads alike, with rules for bodies that are empty.
public protocol ResponseSerializer<SerializedObject>: DataResponseSerializerProtocol,
    DownloadResponseSerializerProtocol
{
    /// What happens to the body before it is turned into a value.
    var dataPreprocessor: any DataPreprocessor { get }
    /// Methods whose responses may be empty.
    var emptyRequestMethods: Set<HTTPMethod> { get }
    /// Statuses whose responses may be empty.
    var emptyResponseCodes: Set<Int> { get }
}

extension ResponseSerializer {
    /// Leaves the body as it is.
    public static var defaultDataPreprocessor: any DataPreprocessor { PassthroughPreprocessor() }
    /// The methods whose responses may have no body by default: HEAD.
    public static var defaultEmptyRequestMethods: Set<HTTPMethod> { EmptyBodyRule.standardMethods }
    /// The statuses that may come without a body by default: 204 and 205.
    public static var defaultEmptyResponseCodes: Set<Int> { EmptyBodyRule.standardCodes }

    public var dataPreprocessor: any DataPreprocessor { Self.defaultDataPreprocessor }
    public var emptyRequestMethods: Set<HTTPMethod> { Self.defaultEmptyRequestMethods }
    public var emptyResponseCodes: Set<Int> { Self.defaultEmptyResponseCodes }

    /// Whether the request's method allows an empty body; nil where there is none.
    public func requestAllowsEmptyResponseData(_ request: URLRequest?) -> Bool? {
        request.flatMap(\.method).map(emptyRequestMethods.contains)
    }

    /// Whether the response's status allows an empty body; nil where there is none.
    public func responseAllowsEmptyResponseData(_ response: HTTPURLResponse?) -> Bool? {
        (response?.statusCode).map(emptyResponseCodes.contains)
    }

    /// The body as it is to be read; nil where it is empty and may be.
    package func prepared(_ data: Data?, method: HTTPMethod?, status: Int?) throws -> Data? {
        let rule = EmptyBodyRule(methods: emptyRequestMethods, codes: emptyResponseCodes)
        return try rule.body(data, method: method, status: status).map(dataPreprocessor.preprocess)
    }

    /// Whether method or status allow an empty body.
    public func emptyResponseAllowed(forRequest request: URLRequest?, response: HTTPURLResponse?) -> Bool {
        requestAllowsEmptyResponseData(request) == true || responseAllowsEmptyResponseData(response) == true
    }
}

extension DownloadResponseSerializerProtocol where Self: DataResponseSerializerProtocol {
    /// Reads the whole file into memory and turns it into a value as if it had come as data. Where a request calls it, a file that is
    /// larger than the request's `maximumBodySize` is an error.
    public func serializeDownload(
        request: URLRequest?,
        response: HTTPURLResponse?,
        fileURL: URL?,
        error: (any Error)?
    ) throws -> Self.SerializedObject {
        if let error { throw error }
        let data = try DownloadedFile.contents(of: fileURL, limit: DownloadedFile.currentLimit)
        return try serialize(request: request, response: response, data: data, error: nil)
    }
}

/// Reads what a download left behind.
enum DownloadedFile {
    /// That of the request which calls a serializer: serializers are not told of the request.
    @TaskLocal static var currentLimit: Int?

    /// `limit`: most bytes.
    static func contents(of fileURL: URL?, limit: Int?) throws -> Data {
        guard let fileURL else { throw CurlewError.responseSerializationFailed(reason: .inputFileNil) }
        do {
            if let limit, try size(of: fileURL) > max(limit, 0) {
                throw CurlewError(
                    .limitExceeded,
                    phase: .decoding,
                    reason: "the downloaded file is larger than \(limit) bytes, the limit for a body in memory"
                )
            }
            return try Data(contentsOf: fileURL)
        } catch let error as CurlewError {
            throw error
        } catch {
            throw CurlewError.responseSerializationFailed(reason: .inputFileReadFailed(at: fileURL))
        }
    }

    private static func size(of fileURL: URL) throws -> UInt64 {
        let file = try FileHandle(forReadingFrom: fileURL)
        defer { try? file.close() }
        return try file.seekToEnd()
    }
}
