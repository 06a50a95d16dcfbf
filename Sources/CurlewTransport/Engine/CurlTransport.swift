public import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Carries out exchanges over libcurl, any number at a time, on one loop thread.
///
///     let transport = CurlTransport()
///     let outcome = try await transport.perform(request, sink: sink)
///
/// The last reference to the transport ends its engine: the thread ends, every connection is closed, and running
/// exchanges fail with `.sessionClosed`, as after `shutdown`. A running `perform` does not keep the transport alive,
/// unless it was called on the only reference: `CurlTransport().perform(…)` completes normally. `init` does not throw:
/// if the running libcurl cannot honour the configuration, every `perform` does.
public final class CurlTransport: Transport {
    private let planner: RequestPlanner
    /// Ends the loop thread in its `deinit`. An error if it could not be created.
    private let engine: Result<TransferEngine, CurlewError>
    private let published = Lock(TransportStatistics())

    /// Creates a transport with its own loop thread.
    public convenience init(configuration: TransportConfiguration = TransportConfiguration()) {
        self.init(configuration: configuration, capabilities: .ofLibcurl)
    }

    /// For tests: plans requests for `capabilities` instead of those of the running libcurl.
    init(configuration: TransportConfiguration, capabilities: Capabilities) {
        let environment = TransportPlan.Environment.current(capabilities)
        planner = RequestPlanner(configuration, environment)
        engine = Self.makeEngine(planner, environment, published)
    }

    private static func makeEngine(
        _ planner: RequestPlanner,
        _ environment: TransportPlan.Environment,
        _ published: Lock<TransportStatistics>
    ) -> Result<TransferEngine, CurlewError> {
        do throws(CurlewError) {
            let settings = try EngineSettings(
                planner.configuration, environment, alternatives: planner.alternatives)
            guard let engine = TransferEngine(settings, published: published) else {
                throw SystemError.shortage(.creation)
                    ?? CurlewError(
                        .`internal`,
                        phase: .creation,
                        reason: "the transport could not get a descriptor, a thread or a libcurl handle"
                    )
            }
            return .success(engine)
        } catch {
            return .failure(error)
        }
    }

    /// Counters as of the end of the loop's last turn, readable from any thread.
    public var statistics: TransportStatistics { published.withLock { $0 } }

    /// Sends one request over libcurl. Returns when the response has ended, after the last call to `sink`.
    public consuming func perform(
        _ request: TransferRequest,
        sink: any TransferSink
    ) async throws(CurlewError) -> TransferOutcome {
        let transfer = try makeTransfer(copy request, sink)
        // The exchange uses the loop only, so the transport may end before it. A transport that has no other reference
        // is kept until the exchange has ended.
        var own: CurlTransport? = consume self
        if !isKnownUniquelyReferenced(&own) { own = nil }
        // `Transfers.resumeCallers` resumes the task, at the end of the loop's turn in which the exchange has ended.
        await withTaskCancellationHandler {
            await withUnsafeContinuation { transfer.start(resuming: $0) }
        } onCancel: {
            transfer.cancel(with: CurlewError(.cancelled, phase: .lifecycle))
        }
        own = nil
        return try transfer.outcome()
    }

    /// Returns the guards whose settings are equal in `configuration` and in this transport's configuration.
    public func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards {
        planner.configuration.guards(equalTo: configuration)
    }

    // Never inlined: its temporaries would become part of the frame of `perform`, which every request in flight keeps.
    @inline(never)
    func makeTransfer(
        _ request: consuming TransferRequest, _ sink: any TransferSink, for goal: RequestPlan.Goal = .exchange
    ) throws(CurlewError) -> ActiveTransfer {
        let upload: UploadSource?
        let plan: RequestPlan
        let loop: EngineLoop
        do throws(CurlewError) {
            loop = try engine.get().loop
            upload = try request.hasBody ? UploadSource.make(for: request) : nil
            plan = try planner.plan(request, for: goal, bodyLength: upload?.length)
        } catch {
            var error = error
            if error.url == nil { error.url = request.url }
            error.attempt = request.attempt
            throw error
        }
        return ActiveTransfer(
            request: consume request, plan: consume plan, sink: sink, upload: upload, loop: loop
        )
    }

    /// Ends running exchanges with `.sessionClosed` and closes every connection. Later exchanges fail in the same way.
    public func shutdown() async {
        if case .success(let engine) = engine { await engine.close() }
    }
}

extension CurlTransport: ConnectTransport {
    package func connect(
        _ request: TransferRequest, sendBuffer: Int
    ) async throws(CurlewError) -> any ByteConnection {
        let transfer = try makeTransfer(request, NoSink.shared, for: .byteConnection(sendBuffer: sendBuffer))
        await transfer.run()
        return try transfer.byteConnection()
    }
}

extension CurlTransport: PoolingTransport {
    /// The connections of this transport's engine, as of the loop's current turn.
    public var connections: ConnectionSnapshot {
        get async {
            guard case .success(let engine) = engine else { return ConnectionSnapshot() }
            return await withUnsafeContinuation { waiter in
                if !engine.loop.send(.snapshot(waiter)) { waiter.resume(returning: ConnectionSnapshot()) }
            }
        }
    }

    /// Opens connections to the server of the request's URL and sends nothing, up to `maximumConnectionsPerHost`.
    ///
    /// The first one is an idle connection that is alive, or a new one, and shows whether the server speaks HTTP/2 or
    /// HTTP/3. Otherwise the missing ones are opened at the same time. If one of them fails, its error is thrown after
    /// the others have ended. If all connections that are permitted are in use or being opened, there is nothing to open,
    /// and that is no error.
    public func prewarm(_ request: TransferRequest, connections count: Int) async throws(CurlewError) {
        guard count > 0 else { return }
        let request = Self.withPatience(request)
        let first = try makeTransfer(request, NoSink.shared, for: .prewarming(opensNew: false))
        let (origin, limit) = (first.plan.origin, max(1, planner.configuration.maximumConnectionsPerHost))
        // The first would wait for its turn. The version is unknown while all connections are being opened; one of HTTP/2
        // or HTTP/3 would not be opened while others are.
        let before = await usablePool(of: origin)
        if before.inUse + before.opening >= limit, before.version == nil || before.version == .http1_1 { return }
        await first.run()
        do throws(CurlewError) { try first.checkEnd() } catch {
            if Self.hadNoPlace(error) { return }
            throw error
        }
        let pool = await usablePool(of: origin)
        guard pool.version == nil || pool.version == .http1_1 else { return }
        let missing = min(min(count, limit) - pool.idle, limit - pool.open - pool.opening)
        guard missing > 0 else { return }
        let failure = await withTaskGroup(of: CurlewError?.self) { group in
            for _ in 0..<missing {
                group.addTask { await self.failureOfOpening(request) }
            }
            return await group.reduce(nil as CurlewError?) { $0 ?? $1 }
        }
        if let failure { throw failure }
    }

    /// Returns the request with a wait for a place among the permitted connections that is no longer than a connection
    /// may take to be made. A transfer for a connection in advance may have to wait if others take the last place
    /// meanwhile, if the connections to other hosts leave none, or for a connection that is being opened and may turn out
    /// to speak HTTP/2.
    private static func withPatience(_ request: TransferRequest) -> TransferRequest {
        var request = request
        if let connect = request.options.timeouts.connect {
            request.options.timeouts.queue = min(request.options.timeouts.queue ?? connect, connect)
        }
        return request
    }

    /// Whether a connection in advance was not opened because there was no place for it.
    private static func hadNoPlace(_ error: CurlewError) -> Bool { error.code == .queueTimedOut }

    private func usablePool(of origin: ConnectionSnapshot.Origin) async -> ConnectionSnapshot.Pool {
        guard case .success(let engine) = engine else { return .init() }
        return await withUnsafeContinuation { waiter in
            if !engine.loop.send(.usablePool(origin, waiter)) { waiter.resume(returning: .init()) }
        }
    }

    private func failureOfOpening(_ request: TransferRequest) async -> CurlewError? {
        do throws(CurlewError) {
            let transfer = try makeTransfer(request, NoSink.shared, for: .prewarming(opensNew: true))
            await transfer.run()
            try transfer.checkEnd()
            return nil
        } catch {
            return Self.hadNoPlace(error) ? nil : error
        }
    }
}

/// Counters of a transport as of its loop's last turn, for leak checks and diagnostics.
public struct TransportStatistics: Sendable, Equatable {
    /// Transfers that have started and not ended.
    public var liveTransfers = 0
    /// Handles that a transfer is using.
    public var easyHandlesInUse = 0
    /// Handles kept for later requests.
    public var easyHandlesIdle = 0
    /// Sockets that are open, in use or idle.
    public var openSockets = 0
    /// Sockets opened since the start.
    public var connectionsMade = 0
    /// Transfers that have ended since the start.
    public var transfersEnded = 0
    /// Turns of the loop thread, without the turns that callers have borrowed.
    public var loopTurns = 0
    /// Byte connections that are open.
    package var byteConnections = 0

    /// Creates statistics with all counters at zero.
    public init() {}
}
