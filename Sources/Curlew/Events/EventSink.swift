internal import Foundation

/// Where one request's events go: to the session's monitors first, then to the request's own, then to the process's.
struct EventSink: Sendable {
    // SAFETY: the owner of a sink has its request, and with it the session's context, which keeps the monitors. Every
    // request would count references to that one object, a dozen times and on every thread.
    private unowned(unsafe) let session: MonitorHub?
    private let own: MonitorHub?
    // SAFETY: the process's monitor stays for ever.
    private unowned(unsafe) let process: MonitorHub?
    // Asked once: what has turned out since then is built a few times more.
    private let sessionUnheard: UsualEvents
    private let ownUnheard: UsualEvents

    /// nil without monitors: then no value is built.
    init?(session: MonitorHub?, own: MonitorHub?) {
        let process = ProcessMonitor.current
        guard session != nil || own != nil || process != nil else { return nil }
        self.process = process
        self.session = session
        self.own = own
        sessionUnheard = session?.unheard ?? .everything
        ownUnheard = (own?.unheard ?? .everything).intersection(process?.unheard ?? .everything)
    }

    private func forEachHub(_ tell: (MonitorHub) -> Void) {
        if let session { tell(session) }
        if let own { tell(own) }
        if let process { tell(process) }
    }

    // MARK: Events that every request has, built for those who hear them

    /// Whether a monitor may do something with one of these.
    func hears(_ usual: UsualEvents) -> Bool { !sessionUnheard.intersection(ownUnheard).isSuperset(of: usual) }

    /// The same of events of an exchange, which only the session's monitors see.
    func exchangeHears(_ usual: UsualEvents) -> Bool { !sessionUnheard.isSuperset(of: usual) }

    /// An event of the request that others follow, at the latest that of its end.
    func emitLeading(_ usual: UsualEvents, _ makeEvent: () -> MonitorHub.Event) {
        guard hears(usual) else { return }
        let event = makeEvent()
        forEachHub { $0.emitLeading(usual, event) }
    }

    /// The last event of the request.
    func emitLast(_ usual: UsualEvents, _ makeEvent: () -> MonitorHub.Event) {
        guard hears(usual) else { return }
        let event = makeEvent()
        forEachHub { $0.emitLast(usual, event) }
    }

    /// An event of an exchange, which only the session's monitors see. The request's own follow.
    func emitExchange(_ usual: UsualEvents, _ makeEvent: () -> MonitorHub.Event) {
        if exchangeHears(usual) { session?.emitLeading(usual, makeEvent()) }
    }

    // MARK: Others

    /// An event of the request.
    func emit(_ event: @escaping MonitorHub.Event) { forEachHub { $0.emit(event) } }

    /// An event of the request that others follow, at the latest that of its end.
    func emitLeading(_ event: @escaping MonitorHub.Event) { forEachHub { $0.emitLeading([], event) } }

    /// The last event of one of the request's handlers.
    func emitLast(_ event: @escaping MonitorHub.Event) { forEachHub { $0.emitLast([], event) } }

    /// An event of an exchange, which only the session's monitors see. The request's own follow.
    func emitExchange(_ event: @escaping MonitorHub.Event) { session?.emitLeading([], event) }

    /// An event of an exchange that comes as often as there are pieces of a body.
    func emitProgress(_ event: @escaping MonitorHub.Event) { session?.emitProgress(event) }

    /// The head of a response, made into Foundation's only for monitors that want it.
    func emitHead(_ event: @escaping MonitorHub.Event) { session?.emitHead(event) }

    /// Bytes of a body, copied only for monitors that want them.
    func emitBody(_ bytes: UnsafeRawBufferPointer, _ makeEvent: (Data) -> MonitorHub.Event) {
        session?.emitBody(bytes, makeEvent)
    }
}
