internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// The unstructured task of a user's `async` closure about a head.
enum ConcurrencyHandle {
    /// Asks an `async` closure about a head. The task ends with its decision.
    static func ask(
        for request: Request,
        _ response: LazyResponse,
        _ handler: @escaping @Sendable (HTTPURLResponse) async -> Request.ResponseDisposition,
        _ answer: @escaping @Sendable (Request.ResponseDisposition) -> Void
    ) {
        guard let lifted = response.value else { return answer(.allow) }
        Task { answer(await UserCode.call(for: request) { await handler(lifted) }) }
    }
}
