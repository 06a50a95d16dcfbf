public import Curlew
public import Dispatch

extension SessionConfiguration {
    /// A group that is entered when a response handler is added and left when it has returned. Use `notify` or `wait`
    /// to learn when all handlers have been called.
    public var completionGroup: DispatchGroup? {
        get { handlerGroup }
        set { handlerGroup = newValue }
    }
}
