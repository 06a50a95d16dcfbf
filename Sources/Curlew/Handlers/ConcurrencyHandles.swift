internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// The task of an `async` closure about a head: one of the places where unstructured tasks start.
enum ConcurrencyHandle {
    /// Asks an `async` closure about a head. Its task ends with the answer.
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
