public import Curlew
internal import CurlewLocks
public import Dispatch
internal import Foundation
internal import FoundationNetworking

/// The style of a request that is written as a command line.
public enum CURLStyle: Sendable {
    /// Alamofire's style: double quotes, cookies as `-b`, including those of the jar, and **nothing left out**:
    /// credentials, cookies and query values are shown. A shell expands its `$` and backquotes. For tests that compare
    /// texts, not for logs.
    case alamofire
}

extension Request {
    /// The request as a command line, quoted as in Alamofire, with everything escaped that a shell would expand, and
    /// with the cookies that the jar has for it. Secrets are left out: `cURLDescription(includingCredentials: true)`
    /// and the style `.alamofire` show them.
    public func cURLDescription() -> String { cURLDescription(as: .quotedAsInAlamofire) }

    /// Calls a closure once on the main queue with `cURLDescription()`, as soon as the `URLRequest` exists or has
    /// failed to be created.
    @discardableResult
    public func cURLDescription(calling handler: @escaping @Sendable (String) -> Void) -> Self {
        cURLDescription(on: .main, calling: handler)
    }

    /// Calls a closure once with `cURLDescription()`, as soon as the `URLRequest` exists or has failed to be created.
    @discardableResult
    public func cURLDescription(on queue: DispatchQueue, calling handler: @escaping @Sendable (String) -> Void) -> Self
    {
        cURLDescription(as: .quotedAsInAlamofire, on: queue, calling: handler)
    }

    /// The request as a command line in Alamofire's style, with its credentials.
    public func cURLDescription(style: CURLStyle) -> String {
        switch style {
        case .alamofire: AlamofireCURL.text(of: self)
        }
    }

    /// Calls a closure once with the command line in Alamofire's style, as soon as the `URLRequest` exists or has
    /// failed to be created.
    @discardableResult
    public func cURLDescription(
        style: CURLStyle,
        on queue: DispatchQueue = .main,
        calling handler: @escaping @Sendable (String) -> Void
    ) -> Self {
        let watcher = CURLWatcher(queue: queue) { handler($0.cURLDescription(style: style)) }
        eventMonitor(watcher)
        // The `URLRequest` may have been created before the monitor was added, so that no event reports it. If an event
        // reports it too, `tell` calls the closure only once.
        if describedRequest != nil { Handoff()(to: queue) { watcher.tell(self) } }
        return self
    }
}

extension CURLForm {
    /// Without secrets, in double quotes, and with the cookies that the jar has for the request.
    fileprivate static let quotedAsInAlamofire = CURLForm(quoting: .double, listsCookies: true)
}

/// Calls a closure once, when a request's `URLRequest` has been created or could not be.
private final class CURLWatcher: Curlew.EventMonitor {
    let queue: DispatchQueue
    private let isTold = Lock(false)
    private let body: @Sendable (Request) -> Void

    init(queue: DispatchQueue, body: @escaping @Sendable (Request) -> Void) {
        self.queue = queue
        self.body = body
    }

    func tell(_ request: Request) {
        let isFirst = isTold.withLock { isTold in
            defer { isTold = true }
            return !isTold
        }
        if isFirst { body(request) }
    }

    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) { tell(request) }

    func request(_ request: Request, didFailToCreateURLRequestWithError error: CurlewError) { tell(request) }
}

/// Writes the command line exactly as Alamofire does. `CURLForm` writes one that a shell reads as intended.
private enum AlamofireCURL {
    static func text(of request: Request) -> String {
        guard let sent = request.lastRequest, let url = sent.url, url.host() != nil, let method = sent.httpMethod else {
            return "$ curl command could not be created"
        }
        let configuration = request.sessionConfiguration
        var parts = ["$ curl -v", "-X \(method)"]
        if let credentials = request.authentication(for: url) {
            parts.append("-u \(credentials.username):\(credentials.password)")
        }
        if sent.httpShouldHandleCookies, let cookies = configuration.cookies?.cookies(for: url), !cookies.isEmpty {
            parts.append("-b \"\(cookies.map { "\($0.name)=\($0.value)" }.joined(separator: ";"))\"")
        }
        var headers = request.defaultHeaders(for: url)
        for header in sent.headers { headers.add(header) }
        for header in headers.sorted() where header.name.lowercased() != "cookie" {
            parts.append("-H \"\(header.name): \(escaped(header.value))\"")
        }
        if let body = sent.httpBody {
            let text = String(decoding: body, as: UTF8.self).replacingOccurrences(of: "\\\"", with: "\\\\\"")
            parts.append("-d \"\(escaped(text))\"")
        }
        parts.append("\"\(url.absoluteString)\"")
        return parts.joined(separator: " \\\n\t")
    }

    private static func escaped(_ text: String) -> String { text.replacingOccurrences(of: "\"", with: "\\\"") }
}
