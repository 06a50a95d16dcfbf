public import Curlew
public import Foundation
public import FoundationNetworking

/// A serializer that does not say in its type what it makes, so that different ones can be tried together:
///
///     CompoundResponseSerializer([JSONResponseSerializer().erased, StringResponseSerializer().erased])
public struct ErasedResponseSerializer: ResponseSerializer {
    /// What does the work.
    public let base: any ResponseSerializer

    /// Hides the type that `base` makes.
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
        func open(_ serializer: some ResponseSerializer) throws -> any Sendable {
            try serializer.serialize(request: request, response: response, data: data, error: error)
        }
        return try open(base)
    }
}

extension ResponseSerializer {
    /// This serializer, its kind of value erased.
    public var erased: ErasedResponseSerializer { ErasedResponseSerializer(self) }
}
