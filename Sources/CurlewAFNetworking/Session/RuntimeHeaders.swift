public import Curlew
internal import CurlewLocks
public import Foundation

/// Header fields that a session adds to every request, and that can change while the session is in use.
///
///     let fields = RuntimeHeaders()
///     let session = Session(configuration: SessionConfiguration { $0.runtimeHeaders = fields })
///     fields.setAuthorization(username: "ada", password: "…")
///     fields["X-Tenant"] = "north"
///     fields.clearAuthorization()
///
/// They take precedence over those of `configuration.headers`, and a request's own fields over both. Each attempt uses
/// the fields that are set when it is made, so a retry sends the new token. A redirect to another origin drops them by
/// the rules for all fields. All members can be used from any thread.
public final class RuntimeHeaders: ChangingHeaders {
    private struct State {
        var fields: HTTPHeaders
        /// Changes with every change of the fields.
        var version = ChangeVersion()
        /// The fields combined with those of a session. The object is kept until a field changes, because a
        /// transport caches a form of it.
        var laidOver: (base: DefaultHeaders, result: DefaultHeaders)?
    }

    /// The only origin that receives the fields. `nil` for every origin.
    package let origin: URL?
    private let state: Lock<State>

    /// Creates the fields. With `origin`, they are sent to no other origin, so that credentials stay there.
    public init(_ fields: HTTPHeaders = HTTPHeaders(), onlyFor origin: URL? = nil) {
        self.origin = origin
        state = Lock(State(fields: fields))
    }

    /// All fields that are set.
    public var headers: HTTPHeaders { state.withLock { $0.fields } }

    /// The value of a field. `nil` if the field is not set. Setting `nil` removes the field.
    public subscript(name: String) -> String? {
        get { state.withLock { $0.fields.value(for: name) } }
        set {
            change { fields in
                if let newValue { fields.add(name: name, value: newValue) } else { fields.remove(name: name) }
            }
        }
    }

    /// Changes several fields in one step: no request sees only a part of the changes. The closure is called again if
    /// another thread has changed the fields in the meantime.
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
        change { $0.add(.authorization(username: username, password: password)) }
    }

    /// Sets `Authorization` to a bearer token.
    public func setAuthorization(bearerToken: String) {
        change { $0.add(.authorization(bearerToken: bearerToken)) }
    }

    /// Removes `Authorization`.
    public func clearAuthorization() { self["Authorization"] = nil }

    /// Returns the fields of a session combined with these, which take precedence.
    package func over(_ base: DefaultHeaders, for url: URL) -> DefaultHeaders {
        if let origin, !RedirectLocation.isSameOrigin(origin, url) { return base }
        return state.withLock { state in
            if state.fields.isEmpty { return base }
            if let known = state.laidOver, known.base === base { return known.result }
            var fields = base.headers
            for field in state.fields { fields.add(field) }
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
