internal import Curlew
internal import Foundation

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
