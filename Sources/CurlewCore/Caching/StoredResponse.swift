package import Foundation

/// The head of a stored response, with the times of its exchange.
package struct StoredResponse: Sendable, Equatable {
    /// Status line and fields, without those that must not be stored (`Connection`, `Set-Cookie`, …).
    package var head: ResponseHead
    /// The time when the request was sent.
    package var requestTime: Date
    /// The time when the head of the response had been received.
    package var responseTime: Date
    /// Whether the stored body has its `Content-Encoding` removed.
    package var isContentDecoded: Bool

    /// Creates a stored response.
    package init(head: ResponseHead, requestTime: Date, responseTime: Date, isContentDecoded: Bool = true) {
        self.head = head
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.isContentDecoded = isContentDecoded
    }
}
