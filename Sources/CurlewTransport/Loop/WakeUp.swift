/// Ends the loop's wait, from any thread.
protocol WakeUp: AnyObject, Sendable {
    func signal()
}

/// How the loop waits, and how it is woken.
enum LoopMechanism: Sendable {
    /// epoll and an eventfd.
    case epoll
    /// poll(2) and a pipe: on every POSIX system, with work in proportion to the descriptors at each turn.
    case poll

    /// `CURLEW_POLLER=poll` chooses the portable one.
    init(environment: [String: String]) { self = environment["CURLEW_POLLER"] == "poll" ? .poll : .epoll }

    /// nil when the process has no descriptors left.
    func make() -> (queue: any ReadinessQueue, wakeUp: any WakeUp)? {
        switch self {
        case .epoll:
            guard let wakeUp = EventDescriptor(), let queue = EpollQueue(wakeUp: wakeUp) else { return nil }
            return (queue, wakeUp)
        case .poll:
            guard let wakeUp = WakeUpPipe() else { return nil }
            return (PollQueue(wakeUp: wakeUp), wakeUp)
        }
    }
}
