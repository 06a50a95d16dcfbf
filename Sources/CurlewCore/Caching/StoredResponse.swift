public import Foundation

/// The head of a stored response, and when it came.
public struct StoredResponse: Sendable, Equatable {
    /// Status line and fields, without those that must not be stored (`Connection`, `Set-Cookie`, …).
    public var head: ResponseHead
    /// When the request was sent.
    public var requestTime: Date
    /// When the head of the response had been received.
    public var responseTime: Date
    /// Whether the stored body is what remains after `Content-Encoding` was undone.
    public var isContentDecoded: Bool

    /// Creates a stored response.
    public init(head: ResponseHead, requestTime: Date, responseTime: Date, isContentDecoded: Bool = true) {
        self.head = head
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.isContentDecoded = isContentDecoded
    }
}
