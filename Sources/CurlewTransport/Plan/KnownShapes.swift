internal import CurlewCore
internal import CurlewLocks
internal import Synchronization

/// The part of a plan that all requests of one shape share.
final class KnownShape: Sendable {
    let settings: [OptionValue]
    let clocks: TransferClocks
    let isIdempotent: Bool
    /// The default headers of the request that the shape was made from. Compared by identity; retained, so that no
    /// other object can get the same identity.
    let defaultHeaders: DefaultHeaders?
    let defaultList: HeaderList?
    fileprivate let shape: RequestShape
    /// The shape that was added before this one, the next element of the chain that starts at `KnownShapes.latest`.
    // SAFETY: as `KnownShapes.latest`.
    fileprivate let earlier: Unmanaged<KnownShape>?

    fileprivate init(_ plan: RequestPlan, of request: TransferRequest, earlier: Unmanaged<KnownShape>?) {
        settings = plan.settings
        clocks = plan.clocks
        isIdempotent = request.method.isIdempotent
        defaultHeaders = request.defaultHeaders
        defaultList = plan.defaultList
        shape = RequestShape(request, isTLS: plan.isTLS)
        self.earlier = earlier
    }
}

/// A cache of the shapes of one transport's requests.
///
/// Every request searches the cache, on any thread. The first shapes stay for the life of the transport and form a
/// chain that is read without a lock. Later shapes replace each other.
final class KnownShapes: Sendable {
    private struct State {
        var staying: [KnownShape] = []
        var passing: [KnownShape] = []
        var next = 0
    }

    /// The maximum of each kind. Bounds the search if every request has another shape.
    private static let capacity = 4

    private let state = Lock(State())
    // A shape's `earlier` never changes after it was stored, so the rest of the chain needs no ordering.
    // SAFETY: `state` retains the shapes, and each `earlier`, as long as this object lives. The address is stored with
    // release order and read with acquire order, so a reader sees the shape initialized on weakly ordered processors.
    private let latest = Atomic<Unmanaged<KnownShape>?>(nil)

    func find(_ request: TransferRequest, isTLS: Bool) -> KnownShape? {
        var candidate = latest.load(ordering: .acquiring)
        while let known = candidate {
            // SAFETY: as `latest`.
            if known._withUnsafeGuaranteedRef({ $0.shape.isThat(of: request, isTLS: isTLS) }) {
                return known.takeUnretainedValue()
            }
            candidate = known._withUnsafeGuaranteedRef { $0.earlier }
        }
        return state.withLock { $0.passing }.first { $0.shape.isThat(of: request, isTLS: isTLS) }
    }

    func keep(_ plan: RequestPlan, for request: TransferRequest) {
        // The replaced shape is released outside the lock: its options hold the user's objects, whose deinit may run
        // any code.
        _ = state.withLock { state -> KnownShape? in
            // Several requests of one shape may have been planned at the same time. The first one stored its plan.
            let isThat = { (known: KnownShape) in known.shape.isThat(of: request, isTLS: plan.isTLS) }
            guard !state.staying.contains(where: isThat), !state.passing.contains(where: isThat) else { return nil }
            if state.staying.count < Self.capacity {
                // SAFETY: as `latest`.
                let known = KnownShape(plan, of: request, earlier: state.staying.last.map { .passUnretained($0) })
                state.staying.append(known)
                latest.store(.passUnretained(known), ordering: .releasing)
            } else if state.passing.count < Self.capacity {
                state.passing.append(KnownShape(plan, of: request, earlier: nil))
            } else {
                let gone = state.passing[state.next]
                state.passing[state.next] = KnownShape(plan, of: request, earlier: nil)
                state.next = (state.next + 1) % Self.capacity
                return gone
            }
            return nil
        }
    }
}
