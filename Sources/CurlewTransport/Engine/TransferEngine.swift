internal import CurlewCore
internal import CurlewLocks

/// The actor whose executor is the loop thread. Its deinit ends the thread.
actor TransferEngine {
    nonisolated let loop: LoopExecutor
    private let book: TransferBook

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// nil where the system has no descriptor or no thread left.
    init?(_ settings: EngineSettings, published: Lock<TransportStatistics>) {
        guard CurlGlobal.isReady, let mechanism = settings.loopMechanism.make() else { return nil }
        let loop = LoopExecutor(wakeUp: mechanism.wakeUp)
        let book = TransferBook(settings, queue: mechanism.queue, published: published)
        guard loop.start(book) else { return nil }
        self.loop = loop
        self.book = book
    }

    deinit { loop.send(.stop) }

    /// Fails what runs, closes every connection and ends the thread.
    func close() {
        // A loop that has ended runs its jobs where they are enqueued: the book is none of theirs.
        guard loop.isCurrent else { return }
        book.closeAll()
        loop.send(.stop)
    }
}
