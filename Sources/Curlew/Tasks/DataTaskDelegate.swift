internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Keeps a response's body in memory, up to a limit.
struct DataTaskDelegate: TaskDelegate {
    /// The maximum number of bytes.
    let limit: Int
    private let state = Lock(State())

    private struct State {
        var bytes: Data?
        var hasRoom = false
    }

    init(limit: Int) { self.limit = limit }

    /// The part of the body that has arrived. `nil` if there is none.
    var bytes: Data? { state.withLock { $0.bytes } }

    var keepsData: Bool { true }

    func receive(_ bytes: UnsafeRawBufferPointer, of data: Data?, in exchange: Exchange) -> Disposition {
        let isKept = state.withLock { state in
            guard bytes.count <= limit - (state.bytes?.count ?? 0) else { return false }
            guard state.bytes != nil else {
                // Most bodies arrive in one piece.
                state.bytes = data ?? Data(bytes)
                return true
            }
            if !state.hasRoom {
                // The length is only a promise, so the room is limited to 4 MiB.
                let room = min(exchange.lengthOfBody, Int64(limit), 4 << 20)
                if room > 0 { state.bytes?.reserveCapacity(Int(room)) }
                state.hasRoom = true
            }
            state.bytes?.append(contentsOf: bytes)
            return true
        }
        guard isKept else { return .abort(.bodyTooLarge(limit)) }
        exchange.received(bytes)
        return .proceed
    }

    func close(_ error: CurlewError?, of exchange: Exchange) async -> CollectedBody {
        CollectedBody(body: bytes.map { .data($0) } ?? .none, error: error)
    }
}
