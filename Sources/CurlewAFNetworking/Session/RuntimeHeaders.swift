public import Curlew
internal import CurlewLocks
public import Foundation

/// Header fields that a session adds to every request, and that can change while it runs.
///
///     let fields = RuntimeHeaders()
///     let session = Session(configuration: SessionConfiguration { $0.runtimeHeaders = fields })
///     fields.setAuthorization(username: "ada", password: "…")
///     fields["X-Tenant"] = "north"
///     fields.clearAuthorization()
///
/// They replace those of `configuration.headers`; a request's own replace both. Each attempt takes what is set when it
/// is made, so a retry sends the new token. A redirect to another origin drops them by the same rules as all others.
/// All members can be used from any thread.
public final class RuntimeHeaders: ChangingHeaders {
    private struct State {
        var fields: HTTPHeaders
        /// Counts every change.
        var version = ChangeVersion()
        /// The fields laid over a session's own: one object until something changes, since a transport keeps its own
        /// form of it.
        var laidOver: (base: DefaultHeaders, result: DefaultHeaders)?
    }

    /// The only origin that gets the fields; nil is every one.
    package let origin: URL?
    private let state: Lock<State>

    /// `origin` keeps the fields, and with them what authorizes, from other hosts.
    public init(_ fields: HTTPHeaders = HTTPHeaders(), onlyFor origin: URL? = nil) {
        self.origin = origin
        state = Lock(State(fields: fields))
    }

    /// All fields that are set.
    public var headers: HTTPHeaders { state.withLock { $0.fields } }

    /// A field's value. nil is none, and setting nil removes the field.
    public subscript(name: String) -> String? {
        get { state.withLock { $0.fields.value(for: name) } }
        set {
            change { fields in
                if let newValue { fields.update(name: name, value: newValue) } else { fields.remove(name: name) }
            }
        }
    }

    /// Changes several fields in one step: no request sees one without the other. The closure is called again if another
    /// thread has changed them meanwhile.
    public func change(_ change: (inout HTTPHeaders) -> Void) {
        OptimisticChange.carryOut(
            reading: { state.withLock { ($0.fields, $0.version) } },
            change,
            storing: { new, version in
                state.withLock { state in
                    guard state.version == version else { return false }
                    state.fields = new
                    state.version.advance()
                    state.laidOver = nil
                    return true
                }
            }
        )
    }

    /// Sets `Authorization` for Basic authentication.
    public func setAuthorization(username: String, password: String) {
        change { $0.update(.authorization(username: username, password: password)) }
    }

    /// Sets `Authorization` to a bearer token.
    public func setAuthorization(bearerToken: String) {
        change { $0.update(.authorization(bearerToken: bearerToken)) }
    }

    /// Removes `Authorization`.
    public func clearAuthorization() { self["Authorization"] = nil }

    /// A session's own fields with these in front.
    package func over(_ base: DefaultHeaders, for url: URL) -> DefaultHeaders {
        if let origin, !RedirectLocation.isSameOrigin(origin, url) { return base }
        return state.withLock { state in
            if state.fields.isEmpty { return base }
            if let known = state.laidOver, known.base === base { return known.result }
            var fields = base.headers
            for field in state.fields { fields.update(field) }
            let result = DefaultHeaders(fields)
            state.laidOver = (base, result)
            return result
        }
    }
}

extension SessionConfiguration {
    /// Header fields that can change while the session is in use. They take precedence over `headers`.
    public var runtimeHeaders: RuntimeHeaders? {
        get { changingHeaders as? RuntimeHeaders }
        set { changingHeaders = newValue }
    }
}
