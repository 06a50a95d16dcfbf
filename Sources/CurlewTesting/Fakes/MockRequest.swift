public import CurlewCore
public import Foundation

/// One request that a `MockTransport` received.
public struct MockRequest: Sendable {
    /// The request as the session passed it to the transport.
    public let transfer: TransferRequest
    /// The whole body; empty if there is none or the transport does not collect bodies.
    public let body: Data
    /// The number of the exchange in its transport, from 0.
    public let index: Int
    /// The values of the placeholders in the route's pattern.
    public internal(set) var parameters: [String: String] = [:]

    /// The request's URL.
    public var url: URL { transfer.url }
    /// The HTTP method.
    public var method: HTTPMethod { transfer.method }
    /// The fields that would have been sent: the session's, overlaid with the request's.
    public var headers: HTTPHeaders { transfer.effectiveHeaders }
    /// The URL's path, percent-decoded.
    public var path: String { url.path(percentEncoded: false) }
    /// The body as text; `nil` if it is not UTF-8.
    public var bodyText: String? { String(data: body, encoding: .utf8) }

    /// Returns the first query value with that name; `nil` if there is none.
    public func queryValue(_ name: String) -> String? {
        URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems?.first { $0.name == name }?.value
    }

    /// Decodes the body as JSON.
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        try JSONDecoder().decode(type, from: body)
    }
}
