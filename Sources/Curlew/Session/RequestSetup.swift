extension Session {
    /// When a request's `URLRequest` is made and adapted.
    public enum RequestSetup: Sendable, Hashable {
        /// When the request starts.
        case lazy
        /// When the request is made: its URL, its command line and its errors are known before it starts. The
        /// session holds such a request until it has ended, and ends it with `.sessionClosed` when it goes; keep a
        /// reference to the session.
        case eager
    }
}
