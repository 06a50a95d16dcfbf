internal import CurlewLocks

/// Owns the loop thread and, through it, everything that one engine has of libcurl. Its `deinit` ends the thread.
final class TransferEngine: Sendable {
    let loop: EngineLoop

    /// `nil` if the system has no descriptor or thread left, or libcurl cannot be initialized.
    init?(_ settings: EngineSettings, published: Lock<TransportStatistics>) {
        guard CurlGlobal.isReady, let system = EpollQueue.make() else { return nil }
        let loop = EngineLoop(wakeUp: system.wakeUp)
        let turns = Turns(settings, queue: system.queue, published: published, loop: loop.identity)
        guard loop.start(turns) else { return nil }
        self.loop = loop
    }

    deinit { loop.stop() }

    /// Fails running transfers, closes every connection and ends the thread. Returns once the transfers and connections
    /// have ended.
    func close() async {
        await withUnsafeContinuation { waiter in
            if loop.send(.close(waiter)) { loop.stop() } else { waiter.resume() }
        }
    }
}

/// The loop that runs an engine's turns.
typealias EngineLoop = LoopThread<Turns>
