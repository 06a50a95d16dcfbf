internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// A request before it is lowered: a `URLRequest`, or the plain parts from which one is made if code asks for it.
///
/// Creating Foundation's type allocates several objects. Most requests consist of a method, a URL and a few fields,
/// which no adapter and no monitor sees.
enum RequestSnapshot: Sendable {
    case made(URLRequest)
    indirect case plain(url: URL, method: HTTPMethod, fields: [HTTPHeader])

    /// The `URLRequest`, made on demand.
    var urlRequest: URLRequest {
        switch self {
        case .made(let request): return request
        case .plain(let url, let method, let fields):
            var request = URLRequest(url: url)
            if method != .get { request.httpMethod = method.rawValue }
            // Set together: Foundation would capitalize the names of single fields.
            if !fields.isEmpty { request.headers = HTTPHeaders(received: fields) }
            return request
        }
    }

    var url: URL? {
        switch self {
        case .made(let request): request.url
        case .plain(let url, _, _): url
        }
    }

    var method: HTTPMethod? {
        switch self {
        case .made(let request): request.method
        case .plain(_, let method, _): method
        }
    }

    /// The fields in the order in which they are sent.
    var fields: [HTTPHeader] {
        switch self {
        case .made(let request):
            guard let fields = request.allHTTPHeaderFields, !fields.isEmpty else { return [] }
            let headers = fields.map { HTTPHeader(name: $0.key, value: $0.value) }
            // Foundation keeps a dictionary. Sorting sends equal requests in equal form.
            return headers.count > 1 ? headers.sorted { $0.name < $1.name } : headers
        case .plain(_, _, let fields): return fields
        }
    }

    var timeoutInterval: TimeInterval {
        switch self {
        case .made(let request): request.timeoutInterval
        case .plain: Self.defaultTimeoutInterval
        }
    }

    /// The timeout of a `URLRequest` whose timeout was not set.
    static let defaultTimeoutInterval: TimeInterval = 60

    var handlesCookies: Bool {
        switch self {
        case .made(let request): request.httpShouldHandleCookies
        case .plain: true
        }
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

extension PlainRequest {
    /// Returns the request that `asURLRequest` describes. `nil` if the two would differ.
    func asSnapshot(
        keepsDotSegments: Bool = false,
        base: Result<BaseURL, CurlewError>? = nil
    ) throws -> RequestSnapshot? {
        guard modifier == nil, Self.keepsItsForm(method), let fields = orderedFields() else { return nil }
        let url = try url.asURL().absolute(against: base)
        let whole = url.baseURL == nil ? url : url.absoluteURL
        let sent = keepsDotSegments ? whole : DotSegments.removed(from: whole)
        return .plain(url: sent, method: method, fields: fields)
    }

    /// Whether Foundation keeps the method as it is. It capitalizes the methods that it knows, and replaces an empty
    /// one by GET.
    private static func keepsItsForm(_ method: HTTPMethod) -> Bool {
        if method == .get { return true }
        let name = method.rawValue.utf8
        return !name.isEmpty && name.allSatisfy { UInt8(ascii: "A") <= $0 && $0 <= UInt8(ascii: "Z") }
    }

    /// Returns the fields sorted by name, as they are sent. `nil` if a name occurs twice, because Foundation's
    /// dictionary keeps one of them.
    private func orderedFields() -> [HTTPHeader]? {
        guard let headers, !headers.isEmpty else { return [] }
        guard headers.count > 1 else { return Array(headers) }
        let fields = headers.sorted { $0.name < $1.name }
        for (field, next) in zip(fields, fields.dropFirst()) where field.name == next.name { return nil }
        return fields
    }
}

// The meaning of a `URLRequest` beyond its URL, method, fields and body.
extension URLRequest {
    /// Applies the service type and the cache policy. The timeout and the cookies are handled elsewhere.
    func refine(_ headers: inout HTTPHeaders, _ options: inout TransferOptions, hasCache: Bool) {
        if networkServiceType != .default { classify(&headers, &options) }
        if cachePolicy != .useProtocolCachePolicy, !hasCache { askCaches(&headers) }
    }

    /// Whether both send equal requests. Foundation's `==` ignores fields and bodies on Linux.
    func isSent(like other: URLRequest) -> Bool {
        url == other.url && httpMethod == other.httpMethod && allHTTPHeaderFields == other.allHTTPHeaderFields
            && hasBody(of: other) && timeoutInterval == other.timeoutInterval && cachePolicy == other.cachePolicy
            && networkServiceType == other.networkServiceType
            && httpShouldHandleCookies == other.httpShouldHandleCookies
    }

    /// Whether both have the same bytes, or the same stream, as their body.
    func hasBody(of other: URLRequest) -> Bool {
        httpBody == other.httpBody && httpBodyStream === other.httpBodyStream
    }

    /// Whether both are unchanged copies of one value. Compares their memory: equal bytes are the same value, but
    /// different bytes may still be equal requests.
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
