internal import CurlewCore
internal import Foundation
public import FoundationNetworking

// Validations run when the head has arrived; the body of a rejected response is not delivered. They run in order, and
// the first failure is the result.
extension DataStreamRequest {
    /// A closure that validates a response.
    public typealias Validation =
        @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse) -> ValidationResult

    /// Adds a validator of your own.
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        judge { urlRequest, response in
            guard let lifted = response.value else { return .success(()) }
            return validation(urlRequest, lifted)
        }
    }

    /// Accepts only these statuses.
    @discardableResult
    public func validate<S: Sequence & SendableMetatype>(statusCode acceptable: S) -> Self where S.Element == Int {
        let acceptable = StatusSet(acceptable)
        return judge { _, response in ResponseValidation.status(response.head.status, in: acceptable) }
    }

    /// Accepts only these content types. `*` is a wildcard.
    @discardableResult
    public func validate<S: Sequence & SendableMetatype>(
        contentType acceptable: @escaping @Sendable @autoclosure () -> S
    ) -> Self where S.Element == String {
        judge { _, response in
            ResponseValidation.contentType(
                response.head.headers.value(for: "Content-Type"),
                in: acceptable(),
                bodyIsEmpty: false
            )
        }
    }

    /// Accepts only statuses in 200..<300 and the content types in the request's `Accept` field.
    @discardableResult
    public func validate() -> Self {
        validate(statusCode: 200..<300).judge { urlRequest, response in
            ResponseValidation.contentType(
                response.head.headers.value(for: "Content-Type"),
                in: ResponseValidation.acceptableContentTypes(for: urlRequest),
                bodyIsEmpty: false
            )
        }
    }

    private func judge(_ judgement: @escaping @Sendable (URLRequest?, LazyResponse) -> ValidationResult) -> Self {
        validation { request, urlRequest, response, _ in
            let result = judgement(urlRequest, response)
            if let request = request as? DataStreamRequest {
                request.eventSink?.emit { monitor in
                    guard let lifted = response.value else { return }
                    monitor.request(
                        request,
                        didValidateRequest: urlRequest,
                        response: lifted,
                        data: nil,
                        fileURL: nil,
                        withResult: result
                    )
                }
            }
            return result
        }
    }
}
