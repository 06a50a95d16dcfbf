/// Awaiters of a run that somebody else drives.
struct Joiners {
    private var waiting: [UInt64: UnsafeContinuation<RunResult?, Never>] = [:]
    private var lastTicket: UInt64 = 0
    private var abandoned: Set<UInt64> = []

    /// A place in the line, before there is a continuation to put into it.
    mutating func ticket() -> UInt64 {
        lastTicket += 1
        return lastTicket
    }

    /// False where the ticket's owner was cancelled in the meantime.
    mutating func wait(_ ticket: UInt64, with continuation: UnsafeContinuation<RunResult?, Never>) -> Bool {
        guard abandoned.remove(ticket) == nil else { return false }
        waiting[ticket] = continuation
        return true
    }

    /// The continuation to resume, if it waits already.
    mutating func abandon(_ ticket: UInt64) -> UnsafeContinuation<RunResult?, Never>? {
        if let continuation = waiting.removeValue(forKey: ticket) { return continuation }
        abandoned.insert(ticket)
        return nil
    }

    /// After its wait a ticket leaves nothing behind.
    mutating func forget(_ ticket: UInt64) { abandoned.remove(ticket) }

    mutating func takeAll() -> [UnsafeContinuation<RunResult?, Never>] {
        guard !waiting.isEmpty else { return [] }
        defer { waiting = [:] }
        return Array(waiting.values)
    }
}
