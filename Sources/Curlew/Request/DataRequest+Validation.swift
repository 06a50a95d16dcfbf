internal import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

// Responses are validated only if a request asks for it; without validations, awaiting methods check the status.
// Validations run in order when the body is complete, and the first failure is the result.
extension DataRequest {
    /// A closure that validates a response.
    public typealias Validation =
        @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse, _ data: Data?) -> ValidationResult

    /// Adds a validator of your own.
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        judge { urlRequest, response, data in
            guard let lifted = response.value else { return .success(()) }
            return validation(urlRequest, lifted, data)
        }
    }

    /// Accepts only these statuses.
    @discardableResult
    public func validate<S: Sequence & SendableMetatype>(statusCode acceptable: S) -> Self where S.Element == Int {
        let acceptable = StatusSet(acceptable)
        return judge { _, response, _ in ResponseValidation.status(response.head.status, in: acceptable) }
    }

    /// Accepts only these content types, if there is a body. `*` is a wildcard.
    @discardableResult
    public func validate<S: Sequence & SendableMetatype>(
        contentType acceptable: @escaping @Sendable @autoclosure () -> S
    ) -> Self where S.Element == String {
        demandContentType { _ in acceptable() }
    }

    /// Accepts only statuses in 200..<300 and the content types in the request's `Accept` field.
    @discardableResult
    public func validate() -> Self {
        validate(statusCode: 200..<300).demandContentType { ResponseValidation.acceptableContentTypes(for: $0) }
    }

    private func demandContentType<S: Sequence & SendableMetatype>(_ acceptable: @escaping @Sendable (URLRequest?) -> S)
        -> Self
    where S.Element == String {
        judge { urlRequest, response, data in
            ResponseValidation.contentType(
                response.head.headers.value(for: "Content-Type"),
                in: acceptable(urlRequest),
                bodyIsEmpty: data?.isEmpty ?? true
            )
        }
    }

    private func judge(
        _ judgement: @escaping @Sendable (URLRequest?, LazyResponse, Data?) -> ValidationResult
    ) -> Self {
        validation { request, urlRequest, response, body in
            let result = judgement(urlRequest, response, body.data)
            if let request = request as? DataRequest {
                request.eventSink?.emit { monitor in
                    guard let lifted = response.value else { return }
                    monitor.request(
                        request,
                        didValidateRequest: urlRequest,
                        response: lifted,
                        data: body.data,
                        fileURL: nil,
                        withResult: result
                    )
                }
            }
            return result
        }
    }
}

extension Request {
    /// Adds a validation whose failure is wrapped in a `CurlewError`.
    func validation(
        _ judgement:
            @escaping @Sendable (Request, URLRequest?, LazyResponse, ReceivedBody) -> ValidationResult
    ) -> Self {
        record.withLock { record in
            record.ownExtras.options.validations.append { request, urlRequest, response, body in
                switch judgement(request, urlRequest, response, body) {
                case .success: nil
                case .failure(let error): ErrorWrapping.validation(error)
                }
            }
        }
        return self
    }
}
