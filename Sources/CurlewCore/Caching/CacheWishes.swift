package import Foundation

/// How one request uses the cache, where that differs from its session.
package struct CacheWishes: Sendable {
    /// Sees a response before it is stored: what it answers is stored, or nothing.
    package typealias Review =
        @Sendable (_ request: TransferRequest, _ head: ResponseHead, _ body: Data) async -> (
            head: ResponseHead, body: Data
        )?

    package var policy: CachePolicy
    package var review: Review?
    /// Whether a response is not to be stored that is too large to be seen.
    package var mustReview = false

    package init(policy: CachePolicy = .useProtocol) { self.policy = policy }
}
