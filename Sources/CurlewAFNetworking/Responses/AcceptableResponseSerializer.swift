public import Curlew
public import Foundation
public import FoundationNetworking

/// A serializer that checks the status and the content type before it reads the body.
///
///     let serializer = StringResponseSerializer().accepting(contentTypes: ["text/plain"])
///     session.request(url).response(responseSerializer: serializer) { … }
///
/// If both are unacceptable, the error is that of the status, and its `underlying` is that of the content type.
public struct AcceptableResponseSerializer<Base: ResponseSerializer>: ResponseSerializer {
    /// Serializes the responses that are acceptable.
    private let base: Base
    /// `nil` accepts any.
    private let acceptableStatusCodes: Set<Int>?
    /// `nil` accepts any. `*` matches any type or subtype.
    private let acceptableContentTypes: Set<String>?

    /// Creates a serializer that rejects other statuses and types. `nil` accepts all.
    init(_ base: Base, statusCodes: Set<Int>?, contentTypes: Set<String>?) {
        self.base = base
        acceptableStatusCodes = statusCodes
        acceptableContentTypes = contentTypes
    }

    public var dataPreprocessor: any DataPreprocessor { base.dataPreprocessor }
    public var emptyRequestMethods: Set<HTTPMethod> { base.emptyRequestMethods }
    public var emptyResponseCodes: Set<Int> { base.emptyResponseCodes }

    public func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> Base.SerializedObject {
        if let error { throw error }
        if let response { try check(response, bodyIsEmpty: data?.isEmpty ?? true) }
        return try base.serialize(request: request, response: response, data: data, error: nil)
    }

    private func check(_ response: HTTPURLResponse, bodyIsEmpty: Bool) throws {
        var typeFailure: CurlewError?
        if let acceptableContentTypes {
            let result = ResponseValidation.contentType(
                response.headers.value(for: "Content-Type"),
                in: acceptableContentTypes,
                bodyIsEmpty: bodyIsEmpty
            )
            if case .failure(let error) = result { typeFailure = error as? CurlewError }
        }
        if let acceptableStatusCodes, !acceptableStatusCodes.contains(response.statusCode) {
            var failure = CurlewError.unacceptableStatus(response.statusCode)
            if let typeFailure { failure.underlying = typeFailure }
            throw failure
        }
        if let typeFailure { throw typeFailure }
    }
}

extension ResponseSerializer {
    /// Returns a serializer that accepts only these statuses and content types.
    public func accepting(
        statusCodes: some Sequence<Int> = 200..<300,
        contentTypes: Set<String>? = nil
    ) -> AcceptableResponseSerializer<Self> {
        AcceptableResponseSerializer(self, statusCodes: Set(statusCodes), contentTypes: contentTypes)
    }
}
