public import CurlewCore
public import Foundation
public import FoundationNetworking

/// Makes a value from the body of a response.
public protocol DataResponseSerializerProtocol<SerializedObject>: Sendable {
    /// The value of a response.
    associatedtype SerializedObject: Sendable

    /// Returns the value of a response. `error` is the request's, if it has failed; most serializers only
    /// rethrow it.
    func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> SerializedObject
}

/// Makes a value from a downloaded file.
public protocol DownloadResponseSerializerProtocol<SerializedObject>: Sendable {
    /// The value of a download.
    associatedtype SerializedObject: Sendable

    /// Returns the value of a download. `error` is the request's, if it has failed; most serializers only
    /// rethrow it.
    func serializeDownload(
        request: URLRequest?,
        response: HTTPURLResponse?,
        fileURL: URL?,
        error: (any Error)?
    ) throws -> SerializedObject
}

/// A serializer for data and for downloads, with rules for empty bodies.
public protocol ResponseSerializer<SerializedObject>: DataResponseSerializerProtocol,
    DownloadResponseSerializerProtocol
{
    /// The preprocessor that changes the body before the serializer makes a value from it.
    var dataPreprocessor: any DataPreprocessor { get }
    /// The methods whose responses may be empty.
    var emptyRequestMethods: Set<HTTPMethod> { get }
    /// The statuses whose responses may be empty.
    var emptyResponseCodes: Set<Int> { get }
}

extension ResponseSerializer {
    /// The default preprocessor, which leaves the body as it is.
    public static var defaultDataPreprocessor: any DataPreprocessor { UnchangedData() }
    /// The methods whose responses may be empty by default: HEAD.
    public static var defaultEmptyRequestMethods: Set<HTTPMethod> { EmptyBodyRule.standardMethods }
    /// The statuses whose responses may be empty by default: 204 and 205.
    public static var defaultEmptyResponseCodes: Set<Int> { EmptyBodyRule.standardCodes }

    public var dataPreprocessor: any DataPreprocessor { Self.defaultDataPreprocessor }
    public var emptyRequestMethods: Set<HTTPMethod> { Self.defaultEmptyRequestMethods }
    public var emptyResponseCodes: Set<Int> { Self.defaultEmptyResponseCodes }

    /// Returns the body after the preprocessor; `nil` if it is empty and the rule allows that.
    package func prepared(_ data: Data?, method: HTTPMethod?, status: Int?) throws -> Data? {
        let rule = EmptyBodyRule(methods: emptyRequestMethods, codes: emptyResponseCodes)
        return try rule.body(data, method: method, status: status).map(dataPreprocessor.preprocess)
    }

    /// Whether the method or the status allows an empty body.
    public func emptyResponseAllowed(forRequest request: URLRequest?, response: HTTPURLResponse?) -> Bool {
        EmptyBodyRule(methods: emptyRequestMethods, codes: emptyResponseCodes)
            .allows(method: request?.method, status: response?.statusCode)
    }
}

extension DownloadResponseSerializerProtocol where Self: DataResponseSerializerProtocol {
    /// Reads the whole file into memory and serializes it like data. If a request is the caller, a file that is larger
    /// than the request's `maximumBodySize` is an error.
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

/// Changes a body before a serializer makes a value from it.
public protocol DataPreprocessor: Sendable {
    /// Returns the data for the serializer.
    func preprocess(_ data: Data) throws -> Data
}

/// Leaves the body as it is.
private struct UnchangedData: DataPreprocessor {
    func preprocess(_ data: Data) throws -> Data { data }
}

/// A type that has a value for an empty body.
public protocol EmptyResponse: Sendable {
    /// Returns the value for an empty body.
    static func emptyValue() -> Self
}

/// The value of a response that has no body.
///
///     try await session.request(url, method: .delete).decode(Empty.self)      // 204 No Content
public struct Empty: Codable, Hashable, Sendable {
    /// The only value.
    public static let value = Empty()
}

extension Empty: EmptyResponse {
    /// Returns `value`.
    public static func emptyValue() -> Empty { value }
}

/// The rules for responses without a body.
package struct EmptyBodyRule: Sendable {
    fileprivate static let standardMethods: Set<HTTPMethod> = [.head]
    fileprivate static let standardCodes: Set<Int> = [204, 205]
    static let standard = EmptyBodyRule(methods: standardMethods, codes: standardCodes)

    let methods: Set<HTTPMethod>
    let codes: Set<Int>

    package init(methods: Set<HTTPMethod>, codes: Set<Int>) {
        self.methods = methods
        self.codes = codes
    }

    func allows(method: HTTPMethod?, status: Int?) -> Bool {
        if let status, codes.contains(status) { return true }
        guard let method else { return false }
        return methods.contains(method)
    }

    /// Returns the body; `nil` if it is empty and the rule allows that. Throws if the rule does not.
    package func body(_ data: Data?, method: HTTPMethod?, status: Int?) throws -> Data? {
        if let data, !data.isEmpty { return data }
        guard allows(method: method, status: status) else {
            throw CurlewError.bodyMissing
        }
        return nil
    }
}

/// Reads the file of a download.
enum DownloadedFile {
    /// The limit of the request that calls a serializer. A task-local value, because serializers do not get the
    /// request.
    @TaskLocal static var currentLimit: Int?

    /// `limit` is the maximum size in bytes.
    static func contents(of fileURL: URL?, limit: Int?) throws -> Data {
        guard let fileURL else { throw CurlewError.fileMissing(in: .decoding) }
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
            throw CurlewError.fileUnreadable(fileURL, in: .decoding)
        }
    }

    private static func size(of fileURL: URL) throws -> UInt64 {
        let file = try FileHandle(forReadingFrom: fileURL)
        defer { try? file.close() }
        return try file.seekToEnd()
    }
}
