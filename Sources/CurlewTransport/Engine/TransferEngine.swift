internal import CurlewLocks

/// Owns one engine: the loop's thread and, through it, everything of libcurl. Its deinit ends the thread.
final class TransferEngine: Sendable {
    let loop: EngineLoop

    /// nil where the system has no descriptor or no thread left.
    init?(_ settings: EngineSettings, published: Lock<TransportStatistics>) {
        guard CurlGlobal.isReady, let system = EpollQueue.make() else { return nil }
        let loop = EngineLoop(wakeUp: system.wakeUp)
        let turns = Turns(settings, queue: system.queue, published: published, loop: loop.identity)
        guard loop.start(turns) else { return nil }
        self.loop = loop
    }

    deinit { loop.stop() }

    /// Fails what runs, closes every connection and ends the thread. Returns once that was done.
    func close() async {
        await withUnsafeContinuation { waiter in
            if loop.send(.close(waiter)) { loop.stop() } else { waiter.resume() }
        }
    }
}

/// The thread that an engine's work is done on.
typealias EngineLoop = LoopThread<Turns>
