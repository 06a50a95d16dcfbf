public import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Carries exchanges out over libcurl: one loop thread, any number of exchanges at a time.
///
///     let transport = CurlTransport()
///     let outcome = try await transport.perform(request, sink: sink)
///
/// Dropping the last reference ends the thread, closes every connection and fails what runs with
/// `.sessionClosed`, as `shutdown` does. A running `perform` is no such reference, unless its own was the only
/// one from the start: `CurlTransport().perform(…)` ends as it would. A configuration that the running libcurl
/// cannot honour shows at the first `perform`.
public final class CurlTransport: Transport {
    private let planner: RequestPlanner
    /// Ends the loop with itself. Requests do not ask it for the loop: each would count it.
    private let engine: TransferEngine?
    /// The engine's, or why there is none.
    private let loop: Result<EngineLoop, CurlewError>
    private let published = Lock(TransportStatistics())

    /// Creates an engine; its thread ends with the last reference to it.
    public convenience init(configuration: TransportConfiguration = TransportConfiguration()) {
        self.init(configuration: configuration, capabilities: .ofLibcurl)
    }

    /// For tests: plans as for another libcurl.
    init(configuration: TransportConfiguration, capabilities: Capabilities) {
        let surroundings = ConnectionPlan.Surroundings.current(capabilities)
        planner = RequestPlanner(configuration, surroundings)
        let made = Self.makeEngine(configuration, surroundings, published)
        engine = try? made.get()
        loop = made.map { $0.loop }
    }

    private static func makeEngine(
        _ configuration: TransportConfiguration,
        _ surroundings: ConnectionPlan.Surroundings,
        _ published: Lock<TransportStatistics>
    ) -> Result<TransferEngine, CurlewError> {
        do throws(CurlewError) {
            let settings = try EngineSettings(configuration, surroundings)
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

    /// Counters as of the loop's last turn, readable from any thread.
    public var statistics: TransportStatistics { published.withLock { $0 } }

    /// Sends one request over libcurl.
    public consuming func perform(
        _ request: TransferRequest,
        sink: any TransferSink
    ) async throws(CurlewError) -> TransferOutcome {
        let transfer = try makeTransfer(copy request, sink)
        // The exchange needs the loop, not the transport: its owner decides how long both live.
        var own: CurlTransport? = consume self
        if !isKnownUniquelyReferenced(&own) { own = nil }
        await withTaskCancellationHandler {
            await withUnsafeContinuation { transfer.start(resuming: $0) }
        } onCancel: {
            transfer.cancel(with: CurlewError(.cancelled, phase: .lifecycle))
        }
        own = nil
        return try transfer.outcome()
    }

    /// Those that its own configuration sets in the same way.
    public func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards {
        planner.configuration.guards(equalTo: configuration)
    }

    // Never inlined: temporaries would be part of `perform`'s frame, which each request in flight has.
    @inline(never)
    func makeTransfer(
        _ request: consuming TransferRequest, _ sink: any TransferSink, sendBuffer: Int? = nil
    ) throws(CurlewError) -> ActiveTransfer {
        let upload: UploadSource?
        var plan: RequestPlan
        let loop: EngineLoop
        do throws(CurlewError) {
            loop = try self.loop.get()
            upload = try UploadSource.make(for: request)
            plan = try RequestPlan.of(request, planner: planner, bodyLength: upload?.length)
        } catch {
            var error = error
            if error.url == nil { error.url = request.url }
            error.attempt = request.attempt
            throw error
        }
        if sendBuffer != nil { plan.onlyConnect() }
        return ActiveTransfer(
            request: consume request, plan: consume plan, sink: sink, upload: upload, loop: loop, sendBuffer: sendBuffer
        )
    }

    /// Ends running exchanges with `.sessionClosed` and closes every connection; later ones fail so too.
    public func shutdown() async {
        await engine?.close()
    }
}

extension CurlTransport: ConnectTransport {
    package func connect(
        _ request: TransferRequest, sendBuffer: Int
    ) async throws(CurlewError) -> any ByteConnection {
        let transfer = try makeTransfer(request, NoSink.shared, sendBuffer: sendBuffer)
        await withTaskCancellationHandler {
            await withUnsafeContinuation { transfer.start(resuming: $0) }
        } onCancel: {
            transfer.cancel(with: CurlewError(.cancelled, phase: .lifecycle))
        }
        return try transfer.madeConnection()
    }
}
