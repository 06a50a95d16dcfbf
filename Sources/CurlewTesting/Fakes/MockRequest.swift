public import CurlewCore
public import Foundation

/// One exchange that a `MockTransport` was asked for.
public struct MockRequest: Sendable {
    /// What was to go onto the wire, frozen.
    public let transfer: TransferRequest
    /// The whole body; empty where there is none or the transport does not collect bodies.
    public let body: Data
    /// 0 for the transport's first exchange.
    public let index: Int
    /// What the placeholders of the route's pattern stood for.
    public internal(set) var parameters: [String: String] = [:]

    /// Where to.
    public var url: URL { transfer.url }
    /// The HTTP method.
    public var method: HTTPMethod { transfer.method }
    /// The fields that would have gone out: the session's, overlaid with the request's own.
    public var headers: HTTPHeaders { transfer.effectiveHeaders }
    /// The URL's path, percent-decoded.
    public var path: String { url.path(percentEncoded: false) }
    /// The body as text, where it is UTF-8.
    public var bodyText: String? { String(data: body, encoding: .utf8) }

    /// The first query value of that name.
    public func queryValue(_ name: String) -> String? {
        URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems?.first { $0.name == name }?.value
    }

    /// The body as a value.
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        try JSONDecoder().decode(type, from: body)
    }
}
