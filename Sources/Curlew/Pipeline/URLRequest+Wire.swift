internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// The meaning of a `URLRequest` beyond its URL, method, fields and body.
extension URLRequest {
    /// Applies the service type and the cache policy. The timeout and the cookies are handled elsewhere.
    func refine(_ headers: inout HTTPHeaders, _ options: inout TransferOptions, hasCache: Bool) {
        if networkServiceType != .default { classify(&headers, &options) }
        if cachePolicy != .useProtocolCachePolicy, !hasCache { askCaches(&headers) }
    }

    /// Whether both send the same. Foundation's `==` ignores fields and bodies on Linux.
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

extension Request {
    /// Sets whether the request may share a connection with others at the same time (HTTP/2 and later), and wait for
    /// one that is being set up. By default it may.
    @discardableResult
    public func multiplexing(_ isAllowed: Bool) -> Self {
        record.withLock { $0.ownExtras.options.multiplexes = isAllowed }
        return self
    }
}
