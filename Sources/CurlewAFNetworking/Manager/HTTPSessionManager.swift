public import Curlew
internal import CurlewLocks
public import Foundation
internal import FoundationNetworking

/// A manager for one service, with a base URL, common header fields and defaults, and a method for each HTTP method.
///
///     let client = HTTPSessionManager(baseURL: "https://api.example.com/v1")
///     client.headers.setAuthorization(username: "ada", password: "…")
///     let user = try await client.get("users/1", as: User.self)
///     let made = try await client.post("users", parameters: ["name": "Ada"], as: User.self)
///
/// Paths are resolved against the base URL by RFC 3986, as if it ended with a slash: `users` is below the base URL,
/// `/users` is below its host, and an absolute URL is used as it is.
public final class HTTPSessionManager: Sendable {
    /// The URL that paths are resolved against, without a query and with a slash at the end of its path.
    public var baseURL: URL? { base?.url }
    /// Header fields of every request to the base URL's origin, or of every request if there is no base URL. If the
    /// configuration has `runtimeHeaders`, `headers` is that object and keeps its own origin.
    public let headers: RuntimeHeaders
    let base: BaseURL?
    /// The reason why no request can be sent. `nil` if there is none.
    let flaw: CurlewError?
    /// Whether the security policy pins certificates, which only `https` has.
    let needsTLS: Bool
    private let makeSession: @Sendable () -> Session
    private let state: Lock<State>

    private struct State {
        var session: Session
        private(set) var defaults: RequestDefaults
        /// Changes with every change of the defaults.
        private(set) var version = ChangeVersion()

        init(session: Session, defaults: RequestDefaults) {
            self.session = session
            self.defaults = defaults
        }

        /// Returns the previous defaults; release them outside the lock.
        mutating func replaceDefaults(_ new: RequestDefaults) -> RequestDefaults {
            version.advance()
            return exchange(&defaults, with: new)
        }
    }

    /// Creates a manager. `transport` creates the transport of each of the manager's sessions; if it is `nil`, the
    /// configuration does. If `baseURL` is `nil`, the configuration's base URL is used.
    ///
    /// With an invalid base URL, every request fails with `.invalidURL`. If the security policy pins certificates, the
    /// manager's requests to URLs without `https` fail with `.requestCreationFailed`, and redirects from https to http
    /// with `.redirectRefused`, even if `configuration.redirects` allows them. The URLs of requests made with
    /// `session`, and those that an interceptor or a redirect handler chooses, are not checked.
    public init(
        baseURL: (any URLConvertible)? = nil,
        configuration: SessionConfiguration = .default,
        defaults: RequestDefaults = RequestDefaults(),
        securityPolicy: SecurityPolicy? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        eventMonitors: [any EventMonitor] = [],
        transport: (@Sendable () -> any Transport)? = nil
    ) {
        var base: BaseURL?
        var flaw: CurlewError?
        do {
            base = try (baseURL?.asURL() ?? configuration.baseURL).map { try BaseURL($0) }
        } catch {
            flaw = error as? CurlewError ?? .requestNotCreated(error)
        }
        self.base = base
        self.flaw = flaw
        needsTLS = securityPolicy?.needsTLS == true
        var configuration = configuration
        if needsTLS { configuration.redirects.allowsInsecure = false }
        configuration.baseURL = base?.url
        let fields = configuration.runtimeHeaders ?? RuntimeHeaders(onlyFor: base?.url)
        configuration.runtimeHeaders = fields
        headers = fields
        let trust = securityPolicy?.serverTrustManager
        makeSession = { [configuration] in
            Session(
                configuration: configuration,
                transport: transport?(),
                interceptor: interceptor,
                serverTrustManager: trust,
                eventMonitors: eventMonitors
            )
        }
        state = Lock(State(session: makeSession(), defaults: defaults))
    }

    /// The session that carries out the requests. `invalidate(resetting: true)` replaces it.
    public var session: Session { state.withLock { $0.session } }

    /// The defaults of new requests. Use `changeDefaults` to change several of them in one step.
    public var defaults: RequestDefaults {
        get { state.withLock { $0.defaults } }
        set { _ = state.withLock { $0.replaceDefaults(newValue) } }
    }

    /// Changes the defaults of new requests. The closure is called again if another thread has changed them in the
    /// meantime.
    public func changeDefaults(_ change: (inout RequestDefaults) -> Void) {
        OptimisticChange.carryOut(
            reading: { state.withLock { ($0.defaults, $0.version) } },
            change,
            storing: { new, version in
                state.withLock { $0.version == version ? $0.replaceDefaults(new) : nil } != nil
            }
        )
    }

    /// The manager's requests, by kind.
    public var tasks: SessionTasks { get async { await session.tasks } }

    /// Cancels the requests of the session, or waits for them, and closes its connections. If the calling task is
    /// cancelled while it waits, the remaining requests are cancelled.
    ///
    /// With `resetting`, the manager continues with a new session at once. Otherwise later requests fail with
    /// `.sessionClosed`.
    public func invalidate(cancellingTasks: Bool = true, resetting: Bool = false) async {
        let new = resetting ? makeSession() : nil
        let old = state.withLock { state in
            defer { state.session = new ?? state.session }
            return state.session
        }
        if !cancellingTasks { await old.drain() }
        await old.invalidate()
    }
}
