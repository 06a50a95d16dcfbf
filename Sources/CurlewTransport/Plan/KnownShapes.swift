internal import CurlewCore
internal import CurlewLocks
internal import Synchronization

/// What all requests of one shape have in common.
final class KnownShape: Sendable {
    let settings: [OptionValue]
    let clocks: TransferClocks
    let isIdempotent: Bool
    let closesConnection: Bool
    /// Nearly all requests have these. By identity; kept, so that it is not given to another object.
    let defaultHeaders: DefaultHeaders?
    let defaultList: HeaderList?
    fileprivate let shape: RequestShape
    /// The one that stayed before it.
    // SAFETY: as `KnownShapes.latest`.
    fileprivate let earlier: Unmanaged<KnownShape>?

    fileprivate init(_ plan: RequestPlan, of request: TransferRequest, earlier: Unmanaged<KnownShape>?) {
        settings = plan.settings
        clocks = plan.clocks
        isIdempotent = request.method.isIdempotent
        closesConnection = plan.closesConnection
        defaultHeaders = request.defaultHeaders
        defaultList = plan.defaultList
        shape = RequestShape(request, isTLS: plan.isTLS)
        self.earlier = earlier
    }
}

/// The shapes of a transport's earlier requests.
///
/// Every request looks for its own, on every thread at once. A session has few: the first ones stay, and are found
/// without a lock and with no count of references but that of the one that is found. Later ones replace each other.
final class KnownShapes: Sendable {
    private struct State {
        var staying: [KnownShape] = []
        var passing: [KnownShape] = []
        var next = 0
    }

    /// What differs each time must not make the search long.
    private static let capacity = 4

    private let state = Lock(State())
    // SAFETY: `state` keeps what stays, and `earlier` with it, as long as this object lives. It is stored with release order
    // and read with acquire order: a reader of the address sees the shape as it was made, on a processor with weak order, too.
    // `earlier` never changes afterwards, so that the rest of the chain needs no order of its own.
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
        // The one that has to go does so without the lock: its options hold objects of the user's.
        _ = state.withLock { state -> KnownShape? in
            // Many requests may have begun with a shape before one of them had it worked out.
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
