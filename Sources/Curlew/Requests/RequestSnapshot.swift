package import CurlewCore
internal import Foundation
package import FoundationNetworking

/// The parts of a `URLRequest` that are sent, read once.
///
/// Creating Foundation's type allocates several objects. Most requests consist of a method, a URL and a few fields,
/// which no adapter and no monitor sees; for them a `URLRequest` is made only if code asks for it.
// A class, so that the history and the result share one object.
final class RequestSnapshot: Sendable {
    let url: URL?
    /// The value of `hasPlainHost`, if the URL has been scanned. Otherwise it is scanned on demand.
    private let scannedHostIsPlain: Bool?
    let method: HTTPMethod
    /// The fields in the order in which they are sent.
    let fields: [HTTPHeader]
    let timeoutInterval: TimeInterval
    let handlesCookies: Bool
    /// The `URLRequest` that was described, adapted or redirected to. `nil` if the parts above are the whole request.
    let original: URLRequest?

    /// The timeout of a `URLRequest` whose timeout was not set.
    static let defaultTimeoutInterval: TimeInterval = 60

    /// Creates a request that consists of these parts, unless an `original` says more. `hasPlainHost` is for a caller
    /// that has read the URL.
    init(
        _ url: URL?, _ method: HTTPMethod, _ fields: [HTTPHeader], hasPlainHost: Bool? = nil,
        timeoutInterval: TimeInterval = defaultTimeoutInterval, handlesCookies: Bool = true,
        original: URLRequest? = nil
    ) {
        self.url = url
        scannedHostIsPlain = hasPlainHost
        self.method = method
        self.fields = fields
        self.timeoutInterval = timeoutInterval
        self.handlesCookies = handlesCookies
        self.original = original
    }

    /// Whether the host of the URL needs no further check: see `URLScan.hasPlainHost`.
    var hasPlainHost: Bool { scannedHostIsPlain ?? url.map { URLScan($0.absoluteString).hasPlainHost } ?? false }

    /// A request that code has made.
    static func made(_ request: URLRequest) -> RequestSnapshot {
        // Foundation keeps a dictionary. Sorting sends equal requests in equal form.
        let fields = (request.allHTTPHeaderFields ?? [:]).map { HTTPHeader(name: $0.key, value: $0.value) }
        return RequestSnapshot(
            request.url, request.method ?? .get, fields.count > 1 ? fields.sorted { $0.name < $1.name } : fields,
            timeoutInterval: request.timeoutInterval, handlesCookies: request.httpShouldHandleCookies,
            original: request)
    }

    /// The request as a `URLRequest`, made on demand.
    var urlRequest: URLRequest {
        if let original { return original }
        // A request without `original` always has a URL.
        var request = URLRequest(url: url ?? URL(filePath: "/"))
        if method != .get { request.httpMethod = method.rawValue }
        // Set together: Foundation would capitalize the names of single fields.
        if !fields.isEmpty { request.headers = HTTPHeaders(received: fields) }
        return request
    }
}

/// A request that consists of a URL without parameters.
package struct PlainRequest: URLRequestConvertible {
    let url: any URLConvertible
    let method: HTTPMethod
    let headers: HTTPHeaders?
    let modifier: Session.RequestModifier?

    package init(
        url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders?, modifier: Session.RequestModifier?
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.modifier = modifier
    }

    package func asURLRequest() throws -> URLRequest {
        var request = try URLRequest(url: url, method: method, headers: headers)
        try modifier?(&request)
        return request
    }

    /// Returns the request that `asURLRequest` describes, without making a `URLRequest`. `nil` if the two would differ:
    /// Foundation capitalizes the methods that it knows, replaces an empty one by GET, and keeps one field of each
    /// name.
    func asSnapshot(
        keepsDotSegments: Bool = false,
        resolved: (URL) throws(CurlewError) -> URL = { $0 }
    ) throws -> RequestSnapshot? {
        guard modifier == nil else { return nil }
        let name = method.rawValue.utf8
        let keepsItsForm = !name.isEmpty && name.allSatisfy { UInt8(ascii: "A") <= $0 && $0 <= UInt8(ascii: "Z") }
        guard method == .get || keepsItsForm else { return nil }
        var fields = headers.map { Array($0) } ?? []
        if fields.count > 1 {
            fields.sort { $0.name < $1.name }
            for (field, next) in zip(fields, fields.dropFirst()) where field.name == next.name { return nil }
        }
        var url = try url.asURL()
        if url.scheme == nil { url = try resolved(url) }
        if url.baseURL != nil { url = url.absoluteURL }
        // A transport scans the URL of its transfer again (`WireURL`), because whatever runs in between may change it.
        let scan = URLScan(url.absoluteString)
        if scan.mayHaveDotSegments, !keepsDotSegments { url = DotSegments.removed(from: url) }
        return RequestSnapshot(url, method, fields, hasPlainHost: scan.hasPlainHost)
    }
}

extension URLRequest {
    /// Returns the request with the path that is sent, without `.` and `..`.
    func withoutDotSegments(in context: SessionContext) -> URLRequest {
        guard !context.configuration.keepsDotSegments, let url else { return self }
        let resolved = DotSegments.removed(from: url)
        guard resolved != url else { return self }
        var request = self
        request.url = resolved
        return request
    }
}

// The meaning of a `URLRequest` beyond its URL, method, fields and body.
extension URLRequest {
    /// Applies the service type and the cache policy. The timeout and the cookies are handled elsewhere.
    func refine(_ headers: inout HTTPHeaders, _ options: inout TransferOptions, hasCache: Bool) {
        if networkServiceType != .default { classify(&headers, &options) }
        if cachePolicy != .useProtocolCachePolicy, !hasCache { askCaches(&headers) }
    }

    /// Returns whether both send equal requests. Foundation's `==` ignores fields and bodies on Linux.
    func isSent(like other: URLRequest) -> Bool {
        url == other.url && httpMethod == other.httpMethod && allHTTPHeaderFields == other.allHTTPHeaderFields
            && hasBody(of: other) && timeoutInterval == other.timeoutInterval && cachePolicy == other.cachePolicy
            && networkServiceType == other.networkServiceType
            && httpShouldHandleCookies == other.httpShouldHandleCookies
    }

    /// Returns whether both have equal bytes or one stream as their body.
    func hasBody(of other: URLRequest) -> Bool {
        httpBody == other.httpBody && httpBodyStream === other.httpBodyStream
    }

    /// Returns whether both are unchanged copies of one value. Compares their memory: equal bytes are the same value,
    /// but different bytes may still be equal requests.
    package func isCopy(of other: URLRequest) -> Bool {
        withUnsafeBytes(of: self) { own in withUnsafeBytes(of: other) { own.elementsEqual($0) } }
    }

    private func classify(_ headers: inout HTTPHeaders, _ options: inout TransferOptions) {
        let traffic: TrafficClass
        switch networkServiceType {
        case .background: traffic = .background
        case .video: traffic = .video
        case .voice, .voip: traffic = .voice
        case .networkServiceTypeCallSignaling: traffic = .signalling
        default: return
        }
        options.trafficClass = traffic
        guard let priority = traffic.priority, !headers.contains(name: "Priority") else { return }
        headers.append(name: "Priority", value: priority)
    }

    /// Asks the caches between here and the server, because the session has none.
    private func askCaches(_ headers: inout HTTPHeaders) {
        let control: String
        switch cachePolicy {
        case .reloadIgnoringLocalAndRemoteCacheData: control = "no-cache"
        case .reloadRevalidatingCacheData: control = "max-age=0"
        default: return
        }
        guard !headers.contains(name: "Cache-Control") else { return }
        headers.append(name: "Cache-Control", value: control)
        // For caches that speak only HTTP/1.0 (RFC 9111, 5.4).
        if control == "no-cache", !headers.contains(name: "Pragma") {
            headers.append(name: "Pragma", value: "no-cache")
        }
    }
}
