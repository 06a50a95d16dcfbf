/// Makes requests, keeps track of the running ones and owns what they share.
public actor Session {
    /// What the requests of this session have in common.
    public nonisolated let configuration: SessionConfiguration

    /// A session over the transport that the configuration describes, or over one of your own.
    public init(configuration: SessionConfiguration = SessionConfiguration()) {
        self.configuration = configuration
    }
}
