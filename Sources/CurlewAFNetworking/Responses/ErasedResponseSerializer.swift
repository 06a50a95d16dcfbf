public import Curlew
public import Foundation
public import FoundationNetworking

/// A serializer whose type does not name the type of its value, so that different serializers can be tried together:
///
///     CompoundResponseSerializer([JSONResponseSerializer().erased, StringResponseSerializer().erased])
public struct ErasedResponseSerializer: ResponseSerializer {
    /// The serializer that does the work.
    public let base: any ResponseSerializer

    /// Creates a serializer that hides the type of the value that `base` makes.
    public init(_ base: any ResponseSerializer) { self.base = base }

    public var dataPreprocessor: any DataPreprocessor { base.dataPreprocessor }
    public var emptyRequestMethods: Set<HTTPMethod> { base.emptyRequestMethods }
    public var emptyResponseCodes: Set<Int> { base.emptyResponseCodes }

    public func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> any Sendable {
        try base.serialize(request: request, response: response, data: data, error: error)
    }
}

extension ResponseSerializer {
    /// This serializer, with the type of its value erased.
    public var erased: ErasedResponseSerializer { ErasedResponseSerializer(self) }
}
