internal import Curlew
internal import Foundation

/// Updates a stored session after an exchange.
struct SessionUpdate: Sendable {
    let preparation: Preparation

    func store() throws(UsageError) {
        guard let file = preparation.sessionFile else { return }
        var session = preparation.stored
        session.learn(preparation.invocation.items)
        session.cookies = preparation.jar?.cookies.map { StoredSession.Cookie($0) } ?? session.cookies
        if let auth = preparation.invocation.auth ?? preparation.stored.auth {
            session.auth = preparation.auth?.scheme == auth.scheme ? preparation.auth : auth
        }
        session.origin = session.hasCredentials ? URLParts(preparation.plan.url).origin : nil
        try file.save(session)
    }
}

extension StoredSession {
    /// Stores the header items that belong to a session. An item that removes a field removes the stored one too.
    mutating func learn(_ items: [RequestItem]) {
        var fields = HeaderList()
        for field in headers { fields.set(field.name, field.value) }
        for item in items where Self.isKept(header: item.key) {
            switch item.kind {
            case .header where item.value.isEmpty: fields.remove(item.key)
            case .header, .emptyHeader: fields.set(item.key, item.value)
            case .headerFile, .query, .queryFile, .text, .textFile, .json, .jsonFile, .file: break
            }
        }
        headers = fields.fields
    }
}

extension StoredSession {
    /// Returns a jar that contains the stored cookies.
    func jar() -> CookieJar {
        let jar = CookieJar()
        for cookie in cookies {
            jar.set(
                Curlew.Cookie(
                    name: cookie.name,
                    value: cookie.value,
                    domain: cookie.domain,
                    path: cookie.path,
                    expires: cookie.expires.map { Date(timeIntervalSince1970: $0) },
                    isSecure: cookie.isSecure,
                    isHTTPOnly: cookie.isHTTPOnly,
                    isHostOnly: cookie.isHostOnly,
                    created: Date()
                )
            )
        }
        return jar
    }
}

extension StoredSession.Cookie {
    init(_ cookie: Curlew.Cookie) {
        self.init(name: cookie.name, value: cookie.value, domain: cookie.domain, path: cookie.path)
        isSecure = cookie.isSecure
        isHTTPOnly = cookie.isHTTPOnly
        isHostOnly = cookie.isHostOnly
        expires = cookie.expires?.timeIntervalSince1970
    }
}
