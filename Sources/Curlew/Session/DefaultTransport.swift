public import CurlewCore
internal import CurlewTransport

extension SessionConfiguration {
    /// The transport that a session makes by itself: decorate it and give the result to `Session(transport:)`.
    public func makeTransport() -> any Transport { CurlTransport(configuration: transport) }
}
