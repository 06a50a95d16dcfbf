public import Curlew
public import Foundation
public import FoundationNetworking

/// Tries several serializers of one type of value, and returns the value of the first that succeeds.
public struct CompoundResponseSerializer<Value: Sendable>: ResponseSerializer {
    /// The serializers, in the order in which they are tried.
    public let serializers: [any ResponseSerializer<Value>]

    /// Creates a serializer that returns the first success of several.
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
        throw CurlewError.serializerFailed(NoSerializerSucceeded(failures: failures))
    }
}

/// The error if no serializer has succeeded.
public struct NoSerializerSucceeded: Error {
    /// The errors of the serializers, in their order.
    public let failures: [any Error]
}
