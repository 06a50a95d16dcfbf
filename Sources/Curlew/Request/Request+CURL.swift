internal import CurlewCore
internal import CurlewLocks
public import Dispatch
internal import Foundation
internal import FoundationNetworking

extension Request {
    /// The request as a command line for curl, quoted for the shell. Credentials, cookies, tokens and query values
    /// are left out unless asked for: a description ends up in logs and chats. So are the values of fields of a
    /// form or a JSON body whose name says that they are secret (`password`, `client_secret`, …).
    public func cURLDescription(includingCredentials: Bool = false) -> String {
        record.withLock { cURLDescription(of: $0, includingCredentials: includingCredentials) }
    }

    func cURLDescription(of record: RequestRecord, includingCredentials: Bool = false) -> String {
        guard let request = record.history.requests.last?.urlRequest, let url = request.url, url.host() != nil,
            let method = request.httpMethod
        else {
            return "$ curl command could not be created"
        }
        let description = CURLDescription(
            url: url,
            method: method,
            headers: headers(of: request),
            body: request.httpBody,
            uploadable: record.history.uploadable,
            authentication: record.extras?.options.authentication ?? context.configuration.authentication(for: url),
            sensitiveHeaders: context.configuration.redirects.sensitiveHeaders,
            showsCredentials: includingCredentials
        )
        return description.text
    }

    /// Tells the command line once, when the `URLRequest` exists or has turned out impossible. What is secret in it is left
    /// out unless asked for.
    @discardableResult
    public func cURLDescription(
        on queue: DispatchQueue = .main,
        includingCredentials: Bool = false,
        calling handler: @escaping @Sendable (String) -> Void
    ) -> Self {
        let hook = CURLHook(hook: Hook(queue: queue, body: handler), includesCredentials: includingCredentials)
        // The hook that is replaced goes without the lock.
        let (isCreated, _) = record.withLock { record in
            let isCreated = record.history.toldRequest != nil || record.run.result != nil
            return (isCreated, isCreated ? nil : exchange(&record.ownExtras.hooks.onCURL, with: hook))
        }
        if isCreated { hook.call { cURLDescription(includingCredentials: $0) } }
        return self
    }

    private func headers(of request: URLRequest) -> [HTTPHeader] {
        var headers = request.headers
        for header in context.defaultHeaders.headers where !headers.contains(name: header.name) {
            headers.append(header)
        }
        return Array(headers)
    }
}

/// Writes a curl command.
struct CURLDescription {
    let url: URL
    let method: String
    let headers: [HTTPHeader]
    let body: Data?
    let uploadable: UploadRequest.Uploadable?
    let authentication: TransferAuthentication?
    /// Names of fields that the session calls secret, beside those that always are.
    let sensitiveHeaders: [String]
    let showsCredentials: Bool

    var text: String {
        var parts = ["$ curl -v", "-X \(Self.quoted(method))"]
        if let authentication {
            let credentials =
                showsCredentials ? "\(authentication.username):\(authentication.password)" : Redaction.replacement
            parts.append("-u \(Self.quoted(credentials))")
        }
        let more = Set(sensitiveHeaders.map { $0.lowercased() })
        for header in headers.sorted(by: { $0.name.lowercased() < $1.name.lowercased() }) {
            let value = showsCredentials ? header.value : Redaction.value(of: header, andOf: more)
            parts.append("-H \(Self.quoted("\(header.name): \(value)"))")
        }
        if let body = bodyArgument { parts.append(body) }
        parts.append(Self.quoted(shownURL))
        return parts.joined(separator: " \\\n\t")
    }

    private var shownURL: String { showsCredentials ? url.absoluteString : Redaction.reference(url.absoluteString) }

    private var bodyArgument: String? {
        switch uploadable {
        case .file(let url, _): return "--data-binary \(Self.quoted("@" + url.path(percentEncoded: false)))"
        case .stream: return "--data-binary @-"
        case .data(let data): return argument(data)
        case nil: return body.map(argument)
        }
    }

    /// What is no text cannot stand on a command line.
    private func argument(_ data: Data) -> String {
        guard let text = String(data: data, encoding: .utf8), !text.utf8.contains(0) else {
            return "--data-binary @- # \(data.count) bytes that are no text"
        }
        let type = headers.last { $0.name.lowercased() == "content-type" }?.value ?? ""
        let shown = showsCredentials ? text : Redaction.body(text, type: type)
        // curl would take a leading @ for a file's name.
        return "\(shown.hasPrefix("@") ? "--data-raw" : "-d") \(Self.quoted(shown))"
    }

    /// In single quotes nothing is special to a POSIX shell but the quote itself.
    static func quoted(_ text: String) -> String {
        "'" + text.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}
