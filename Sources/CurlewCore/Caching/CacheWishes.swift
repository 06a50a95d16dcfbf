package import Foundation

/// The caching options of one request that differ from those of its session.
package struct CacheWishes: Sendable {
    /// Examines a response before it is stored. The result is stored in its place; `nil` prevents storing.
    package typealias Review =
        @Sendable (_ request: TransferRequest, _ head: ResponseHead, _ body: Data) async -> (
            head: ResponseHead, body: Data
        )?

    package var policy: CachePolicy
    package var review: Review?
    /// Whether a response that is too large for `review` must not be stored.
    package var mustReview = false

    package init(policy: CachePolicy = .useProtocol) { self.policy = policy }
}
