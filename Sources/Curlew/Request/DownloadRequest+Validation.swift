internal import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

// Responses are validated only if a request asks for it; without validations, awaiting methods check the status.
// Validations run in order when the file is complete and before it is moved to its destination; the first failure is
// the result.
extension DownloadRequest {
    /// A closure that validates a response.
    public typealias Validation =
        @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse, _ fileURL: URL?) -> ValidationResult

    /// Adds a validator of your own.
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        judge { urlRequest, response, fileURL in
            guard let lifted = response.value else { return .success(()) }
            return validation(urlRequest, lifted, fileURL)
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
        judge { urlRequest, response, fileURL in
            ResponseValidation.contentType(
                response.head.headers.value(for: "Content-Type"),
                in: acceptable(urlRequest),
                file: fileURL
            )
        }
    }

    private func judge(
        _ judgement: @escaping @Sendable (URLRequest?, LazyResponse, URL?) -> ValidationResult
    ) -> Self {
        validation { request, urlRequest, response, body in
            let result = judgement(urlRequest, response, body.fileURL)
            if let request = request as? DownloadRequest {
                request.eventSink?.emit { monitor in
                    guard let lifted = response.value else { return }
                    monitor.request(
                        request,
                        didValidateRequest: urlRequest,
                        response: lifted,
                        data: nil,
                        fileURL: body.fileURL,
                        withResult: result
                    )
                }
            }
            return result
        }
    }
}
