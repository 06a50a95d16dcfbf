public import CurlewCore
internal import CurlewTransport

extension SessionConfiguration {
    /// The transport that a session makes by itself: decorate it and give the result to `Session(transport:)`.
    public func makeTransport() -> any Transport { CurlTransport(configuration: transport) }
}

extension Capabilities {
    /// What the libcurl in this process can do, asked once.
    public static var current: Capabilities { .ofLibcurl }
}
