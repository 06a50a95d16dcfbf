internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// The tasks of Alamofire's eager handles: one of the places where unstructured tasks start. Each attaches its
/// response handler at once, so the request starts even if nobody awaits the handle.
enum ConcurrencyHandle {
    static func start<Response: Sendable>(
        cancelling request: Request?,
        _ attach: @escaping @Sendable (@escaping @Sendable (Response) -> Void) -> Void
    ) -> Task<Response, Never> {
        Task {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    attach { continuation.resume(returning: $0) }
                }
            } onCancel: {
                request?.cancel()
            }
        }
    }

    /// Asks an `async` closure about a head. Its task ends with the answer.
    static func ask(
        _ response: LazyResponse,
        _ handler: @escaping @Sendable (HTTPURLResponse) async -> Request.ResponseDisposition,
        _ answer: @escaping @Sendable (Request.ResponseDisposition) -> Void
    ) {
        guard let lifted = response.value else { return answer(.allow) }
        Task { answer(await handler(lifted)) }
    }
}
