extension Session {
    /// The time at which a request's `URLRequest` is created and adapted.
    public enum RequestSetup: Sendable, Hashable {
        /// When the request starts.
        case lazy
        /// When the request is created: its URL, its curl command and its errors are known before it starts. The
        /// session holds such a request until it has ended, and ends it with `.sessionClosed` when the session is
        /// released; keep a reference to the session.
        case eager
    }
}
