/// The fields that have no meaning after a body, because they are needed before it (RFC 9110, 6.5.1).
///
/// A recipient that merged them into the head could be told another length, another host or another user after it has
/// decided about the message. Curlew neither shows them in a response nor sends them.
package enum TrailerFields {
    /// Whether a field of this name is permitted after a body. Preconditions (`If-…`) are not.
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

/// The trailer fields of a request, which its transport asks for when the body has ended.
///
/// A class, so that a request without them stores one pointer.
public final class RequestTrailers: Sendable {
    private let make: @Sendable () -> HTTPHeaders

    /// Creates trailer fields. `make` is called each time the body has been sent to its end, in a turn of the
    /// transport's loop, and must not block.
    public init(_ make: @escaping @Sendable () -> HTTPHeaders) { self.make = make }

    /// The maximum size of all fields, in bytes.
    static let maximumSize = 64 * 1024

    /// Returns the fields for a body that has ended. Throws `.invalidHeader` if one of them cannot be sent, or must not
    /// follow a body, or if together they exceed 64 KiB.
    public func fields() throws(CurlewError) -> HTTPHeaders {
        let fields = make()
        var size = 0
        for field in fields {
            guard field.isValid else { throw .invalidHeader(field) }
            guard TrailerFields.permits(field.name) else {
                let reason = "the field \(field.name) is needed before a body, and cannot follow it (RFC 9110, 6.5.1)"
                throw CurlewError(.invalidHeader, phase: .send, reason: reason)
            }
            size += field.name.utf8.count + field.value.utf8.count + 4
        }
        guard size <= Self.maximumSize else {
            let reason = "the trailer fields exceed \(Self.maximumSize) bytes"
            throw CurlewError(.invalidHeader, phase: .send, reason: reason)
        }
        return fields
    }
}

extension BodySource {
    /// Throws `.invalidBody` unless trailer fields can follow the body: only one of unknown length has an end mark that
    /// they are part of.
    package func checkCarriesTrailers() throws(CurlewError) {
        if case .stream(_, let length) = self, length ?? -1 < 0 { return }
        throw CurlewError(
            .invalidBody, phase: .creation, reason: "trailer fields can follow only a streamed body of unknown length")
    }
}
