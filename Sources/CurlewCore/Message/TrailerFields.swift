/// The fields that have no meaning behind a body, because they are needed before it (RFC 9110, 6.5.1).
///
/// A recipient that merged them into the head could be told another length, another host or another user after it has
/// decided about the message. Curlew neither shows them in a response nor sends them.
package enum TrailerFields {
    /// Whether a field of this name is permitted behind a body. Preconditions (`If-…`) are not.
    package static func permits(_ name: String) -> Bool {
        let name = ASCII.lowercased(name)
        return !forbidden.contains(name) && !name.hasPrefix("if-")
    }

    /// Returns the fields of a trailer section that are permitted there, in order.
    package static func permitted(_ received: HTTPHeaders) -> HTTPHeaders {
        // Most sections have only permitted fields, and most messages have none.
        if received.allSatisfy({ permits($0.name) }) { return received }
        return HTTPHeaders(received: received.filter { permits($0.name) })
    }

    private static let forbidden: Set<String> = [
        // Framing, and the connection.
        "connection", "content-length", "http2-settings", "keep-alive", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
        // Routing.
        "alt-svc", "alt-used", "forwarded", "host", "location", "via",
        // Authentication.
        "authorization", "proxy-authenticate", "proxy-authorization", "www-authenticate",
        // Cookies, and other state that the client would keep.
        "clear-site-data", "cookie", "set-cookie", "set-cookie2", "strict-transport-security",
        // The form of the content, which its recipient has decoded already. Digests of it are permitted.
        "content-disposition", "content-encoding", "content-location", "content-range", "content-type",
        // Modifiers of the request.
        "expect", "max-forwards", "range",
        // Control of the response.
        "age", "cache-control", "expires", "pragma", "retry-after", "vary", "warning",
    ]
}
