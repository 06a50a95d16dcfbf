public import Foundation

/// The head of a stored response, with the times of its exchange.
public struct StoredResponse: Sendable, Equatable {
    /// Status line and fields, without those that must not be stored (`Connection`, `Set-Cookie`, …).
    public var head: ResponseHead
    /// The time when the request was sent.
    public var requestTime: Date
    /// The time when the head of the response had been received.
    public var responseTime: Date
    /// Whether the stored body has its `Content-Encoding` removed.
    public var isContentDecoded: Bool

    /// Creates a stored response.
    public init(head: ResponseHead, requestTime: Date, responseTime: Date, isContentDecoded: Bool = true) {
        self.head = head
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.isContentDecoded = isContentDecoded
    }
}
