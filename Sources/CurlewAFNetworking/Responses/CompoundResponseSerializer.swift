public import Curlew
internal import CurlewFailures
public import Foundation
public import FoundationNetworking

/// Several serializers of one kind of value: the first that succeeds gives it.
public struct CompoundResponseSerializer<Value: Sendable>: ResponseSerializer {
    /// Those that are tried, in this order.
    public let serializers: [any ResponseSerializer<Value>]

    /// Creates a serializer that answers the first success of several.
    public init(_ serializers: [any ResponseSerializer<Value>]) { self.serializers = serializers }

    public func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> Value {
        if let error { throw error }
        var failures: [any Error] = []
        for serializer in serializers {
            do {
                return try serializer.serialize(request: request, response: response, data: data, error: nil)
            } catch {
                failures.append(error)
            }
        }
        throw CurlewError.responseSerializationFailed(
            reason: .customSerializationFailed(error: NoSerializerSucceeded(failures: failures))
        )
    }
}

/// What each of the serializers had to say, in order.
public struct NoSerializerSucceeded: Error {
    /// Why each of them failed, in their order.
    public let failures: [any Error]
}
