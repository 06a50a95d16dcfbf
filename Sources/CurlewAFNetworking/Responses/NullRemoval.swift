public import Curlew
public import Foundation
public import FoundationNetworking

/// Reads JSON and removes its nulls: a key whose value is null is absent, like a key that was never sent.
public struct NullFreeJSONResponseSerializer: ResponseSerializer {
    private let base: JSONResponseSerializer

    /// Creates a serializer around one that reads JSON.
    public init(_ base: JSONResponseSerializer = JSONResponseSerializer()) { self.base = base }

    public var dataPreprocessor: any DataPreprocessor { base.dataPreprocessor }
    public var emptyRequestMethods: Set<HTTPMethod> { base.emptyRequestMethods }
    public var emptyResponseCodes: Set<Int> { base.emptyResponseCodes }

    public func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> any Any & Sendable {
        removingNullValues(try base.serialize(request: request, response: response, data: data, error: error))
    }
}

extension JSONResponseSerializer {
    /// This serializer, with nulls removed from dictionaries and arrays at every depth.
    public var removingNulls: NullFreeJSONResponseSerializer { NullFreeJSONResponseSerializer(self) }
}

/// `value` without the nulls in its dictionaries and arrays. A null that is the whole value stays.
public func removingNullValues(_ value: any Any & Sendable) -> any Any & Sendable {
    switch value {
    case let dictionary as [String: any Any & Sendable]:
        dictionary.filter { !($0.value is NSNull) }.mapValues(removingNullValues)
    case let array as [any Any & Sendable]:
        array.filter { !($0 is NSNull) }.map(removingNullValues)
    default:
        value
    }
}
