internal import CurlewCore
internal import CurlewLocks
public import Dispatch
internal import Foundation
internal import FoundationNetworking

extension Request {
    /// The request as a curl command, quoted for the shell. Because such commands end up in logs and chats,
    /// credentials, cookies, tokens and query values are left out unless you ask for them, and so are form and JSON
    /// fields with secret names (`password`, `client_secret`, …).
    ///
    /// A request that was not sent yet has no command; to wait for it, pass a closure, or read `cURLDescriptions()`.
    ///
    /// After a redirect, the command describes the last request, without the credentials, fields or body that the
    /// redirect removed.
    public func cURLDescription(includingCredentials: Bool = false) -> String {
        cURLDescription(as: includingCredentials ? .whole : .masked)
    }

    /// The request as a curl command in the given form.
    package func cURLDescription(as form: CURLForm) -> String {
        record.withLock { cURLDescription(of: $0, as: form) }
    }

    func cURLDescription(of record: RequestRecord, as form: CURLForm = .masked) -> String {
        guard let request = record.history.lastRequest?.urlRequest, let url = request.url, url.host() != nil,
            let method = request.httpMethod
        else {
            return "$ curl command could not be created"
        }
        let headers = headers(of: request, with: record.defaultHeaders(for: url, in: context))
        let description = CURLDescription(
            url: url,
            method: method,
            headers: headers,
            body: request.httpBody,
            cookies: form.listsCookies ? cookies(for: request, to: url) : [],
            uploadable: record.history.redirectedParts?.keepsBody == false ? nil : kind.bodyMaker?.uploadable,
            authentication: record.authentication(for: url, in: context),
            sensitiveHeaders: context.configuration.redirects.sensitiveHeaders,
            options: curlOptions(beside: headers, form.quoting),
            form: form
        )
        return description.text
    }

    /// Calls a closure once with the curl command, as soon as the `URLRequest` exists or could not be created. Secrets
    /// are left out unless you ask for them.
    @discardableResult
    public func cURLDescription(
        on queue: DispatchQueue = .main,
        includingCredentials: Bool = false,
        calling handler: @escaping @Sendable (String) -> Void
    ) -> Self {
        cURLDescription(as: includingCredentials ? .whole : .masked, on: queue, calling: handler)
    }

    /// Calls a closure once with the curl command in the given form.
    package func cURLDescription(
        as form: CURLForm,
        on queue: DispatchQueue,
        calling handler: @escaping @Sendable (String) -> Void
    ) -> Self {
        let hook = CURLHook(hook: Hook(queue: queue, body: handler), form: form)
        // The former hook is released without the lock.
        let (isCreated, _) = record.withLock { record in
            let isCreated = record.history.lastFinalRequest != nil || record.lifecycle.result != nil
            return (isCreated, isCreated ? nil : exchange(&record.ensureExtras().hooks.onCURL, with: hook))
        }
        if isCreated { hook.call { cURLDescription(as: $0) } }
        return self
    }

    /// Options that override defaults of curl that the session does not share.
    private func curlOptions(beside headers: [HTTPHeader], _ quoting: ShellQuoting) -> [String] {
        let configuration = context.configuration
        var options = configuration.keepsDotSegments ? ["--path-as-is"] : []
        if !configuration.addsAccept, !headers.contains(where: { $0.name.lowercased() == "accept" }) {
            options.append("-H \(quoting.quoted("Accept:"))")
        }
        return options
    }

    /// The cookies that the jar has for the request at this moment. The exchange chooses again when it begins.
    private func cookies(for request: URLRequest, to url: URL) -> [Cookie] {
        request.httpShouldHandleCookies ? context.configuration.cookies?.cookies(for: url) ?? [] : []
    }

    private func headers(of request: URLRequest, with defaults: HTTPHeaders) -> [HTTPHeader] {
        var headers = request.headers
        for header in defaults where !headers.contains(name: header.name) {
            headers.append(header)
        }
        return Array(headers)
    }
}

// The parts of a request that are not in its `URLRequest`, and that a redirect may have removed.
extension RequestRecord {
    func authentication(for url: URL, in context: SessionContext) -> TransferAuthentication? {
        if let redirected = history.redirectedParts { return redirected.authentication }
        return extras?.options.authentication ?? context.authentication(for: url)
    }

    func defaultHeaders(for url: URL, in context: SessionContext) -> HTTPHeaders {
        history.redirectedParts?.defaultHeaders ?? context.defaultHeaders(for: url).headers
    }
}

/// A curl command. A separate type, because a stream chooses its values by their type.
struct CURLCommand: Sendable {
    let text: String
}

/// A closure that receives the request's curl command in one form.
struct CURLHook: Sendable {
    let hook: Hook<String>
    let form: CURLForm

    func call(_ describe: (CURLForm) -> String) { hook.call(describe(form)) }
}

/// The form of a curl command.
package struct CURLForm: Sendable {
    let quoting: ShellQuoting
    let showsCredentials: Bool
    /// Whether the jar's cookies for the request are listed.
    let listsCookies: Bool

    package init(quoting: ShellQuoting = .single, showsCredentials: Bool = false, listsCookies: Bool = false) {
        self.quoting = quoting
        self.showsCredentials = showsCredentials
        self.listsCookies = listsCookies
    }

    /// The form without secrets.
    static let masked = CURLForm()
    /// The form with secrets.
    static let whole = CURLForm(showsCredentials: true)
}

/// Writes a curl command.
struct CURLDescription {
    let url: URL
    let method: String
    let headers: [HTTPHeader]
    let body: Data?
    let cookies: [Cookie]
    let uploadable: UploadRequest.Uploadable?
    let authentication: TransferAuthentication?
    /// Names of fields that the session declares secret, besides those that always are.
    let sensitiveHeaders: [String]
    let options: [String]
    let form: CURLForm

    private var quoting: ShellQuoting { form.quoting }
    private var showsCredentials: Bool { form.showsCredentials }

    var text: String {
        var parts = ["$ curl -v", "-X \(quoting.method(method))"]
        if let authentication {
            let credentials =
                showsCredentials ? "\(authentication.username):\(authentication.password)" : Redaction.replacement
            parts.append("-u \(quoted(credentials))")
        }
        if !cookies.isEmpty {
            let pairs = cookies.map { "\($0.name)=\(showsCredentials ? $0.value : Redaction.replacement)" }
            parts.append("-b \(quoted(pairs.joined(separator: "; ")))")
        }
        let more = Set(sensitiveHeaders.map { $0.lowercased() })
        for header in headers.sorted(by: { $0.name.lowercased() < $1.name.lowercased() }) {
            let value = showsCredentials ? header.value : Redaction.value(of: header, andOf: more)
            parts.append("-H \(quoted("\(header.name): \(value)"))")
        }
        parts += options
        if let body = bodyArgument { parts.append(body) }
        parts.append(quoted(shownURL))
        return parts.joined(separator: " \\\n\t")
    }

    private var shownURL: String { showsCredentials ? url.absoluteString : Redaction.reference(url.absoluteString) }

    private var bodyArgument: String? {
        switch uploadable {
        case .file(let url, _): return "--data-binary \(quoted("@" + url.path(percentEncoded: false)))"
        case .stream: return "--data-binary @-"
        case .data(let data): return argument(data)
        case nil: return body.map(argument)
        }
    }

    /// Returns the argument for a body. Bytes that are no text cannot be on a command line, and are read from standard
    /// input.
    private func argument(_ data: Data) -> String {
        guard let text = String(data: data, encoding: .utf8), !text.utf8.contains(0) else { return "--data-binary @-" }
        let type = headers.last { $0.name.lowercased() == "content-type" }?.value ?? ""
        // The parts of a form name their fields between their contents, so secret ones cannot be left out.
        if !showsCredentials, type.lowercased().hasPrefix("multipart/") { return "--data-binary @-" }
        let shown = showsCredentials ? text : Redaction.body(text, type: type)
        // curl reads a file if the argument of `-d` begins with @.
        return "\(shown.utf8.first == UInt8(ascii: "@") ? "--data-raw" : "-d") \(quoted(shown))"
    }

    private func quoted(_ text: String) -> String { quoting.quoted(text) }
}
