internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import Glibc

/// The bytes of a large body that the store has not written yet.
final class StorageBacklog: Sendable {
    private struct State: Sendable {
        var pieces: [Data] = []
        var size = 0
        /// `nil` while more bytes may arrive; then whether the body is complete.
        var isComplete: Bool?
        var isRefused = false
        var isNetworkPaused = false
        /// The writing task waits here.
        var change: OneShot<Bool>?
    }

    private enum Step {
        case write(Data, resumes: Bool)
        case wait(OneShot<Bool>)
        case end(complete: Bool)
    }

    private let state = Lock(State())
    private let isStored = OneShot<Bool>()
    private let control: (any TransferControl)?

    private static let highWatermark = 4 * 1024 * 1024
    private static let lowWatermark = 1024 * 1024

    init(writing entry: CacheEntry, ofSize size: Int64?, to store: any CacheStore, control: (any TransferControl)?) {
        self.control = control
        ExchangeTask().start { [self] in
            let writer = await store.writer(for: entry, expectedSize: size)
            isStored.resolve(await write(to: writer))
        }
    }

    /// Whether the network must pause. Called on the network's thread; the writing task resumes the network.
    var isFull: Bool {
        state.withLock { state in
            guard state.size > Self.highWatermark, !state.isRefused else { return false }
            state.isNetworkPaused = true
            return true
        }
    }

    /// Returns `false` if the store does not want the body.
    func append(_ piece: Data) -> Bool {
        let (isWanted, change) = state.withLock { state -> (Bool, OneShot<Bool>?) in
            guard !state.isRefused else { return (false, nil) }
            state.pieces.append(piece)
            state.size += piece.count
            return (true, exchange(&state.change, with: nil))
        }
        change?.resolve(true)
        return isWanted
    }

    /// Ends the body. Returns whether the response was stored.
    func finish(complete: Bool) async -> Bool {
        let change = state.withLock { state in
            state.isComplete = complete
            return exchange(&state.change, with: nil)
        }
        change?.resolve(true)
        return await isStored.waitThroughCancellation()
    }

    private func write(to writer: (any CacheWriter)?) async -> Bool {
        while true {
            switch next() {
            case .wait(let change): _ = await change.waitThroughCancellation()
            case .write(let piece, let resumes):
                if resumes { control?.resumeReceiving() }
                guard let writer, await writer.write(piece) else {
                    refuse()
                    await writer?.drop()
                    return false
                }
            case .end(let complete):
                if complete { return await writer?.commit() ?? false }
                await writer?.drop()
                return false
            }
        }
    }

    private func next() -> Step {
        state.withLock { state in
            if state.isComplete == false { return .end(complete: false) }
            if !state.pieces.isEmpty {
                let piece = state.pieces.removeFirst()
                state.size -= piece.count
                let resumes = state.isNetworkPaused && state.size <= Self.lowWatermark
                if resumes { state.isNetworkPaused = false }
                return .write(piece, resumes: resumes)
            }
            if let isComplete = state.isComplete { return .end(complete: isComplete) }
            let change = OneShot<Bool>()
            state.change = change
            return .wait(change)
        }
    }

    private func refuse() {
        let (isPaused, _) = state.withLock { state in
            state.isRefused = true
            state.size = 0
            return (exchange(&state.isNetworkPaused, with: false), exchange(&state.pieces, with: []))
        }
        if isPaused { control?.resumeReceiving() }
    }
}

/// Cuts a body that arrives into pieces for a store.
///
/// The memory of a piece is reused after the store has released it: the system maps new memory page by page, which
/// takes longer than writing it.
final class PieceCutter {
    /// The size of every piece but the last.
    static let size = 1 << 20

    private let spares = SparePieces()
    private var piece: UnsafeMutableRawPointer?
    private var count = 0

    deinit { if let piece { free(piece) } }

    /// Copies bytes up to the end of a piece. Returns their number, and the piece if it is full; `nil` if there is no
    /// memory.
    func take(_ bytes: UnsafeRawBufferPointer) -> (taken: Int, full: Data?)? {
        guard let piece = piece ?? spares.take() else { return nil }
        self.piece = piece
        let taken = min(bytes.count, Self.size - count)
        if taken > 0, let source = bytes.baseAddress { memcpy(piece + count, source, taken) }
        count += taken
        return (taken, count == Self.size ? rest() : nil)
    }

    /// Returns the current piece and begins a new one; `nil` if it is empty.
    func rest() -> Data? {
        guard let piece, count > 0 else { return nil }
        defer { (self.piece, count) = (nil, 0) }
        let (address, spares) = (UInt(bitPattern: piece), spares)
        return Data(bytesNoCopy: piece, count: count, deallocator: .custom { _, _ in spares.put(address) })
    }
}

/// The memory of released pieces, for reuse.
private final class SparePieces: Sendable {
    // Addresses, because no piece owns the memory.
    private let addresses = Lock<[UInt]>([])

    /// The most pieces to keep. A slow store has more of them at the same time than it will need later.
    private static let maximumPieces = 4

    deinit { for address in addresses.withLock({ $0 }) { free(UnsafeMutableRawPointer(bitPattern: address)) } }

    func take() -> UnsafeMutableRawPointer? {
        addresses.withLock { $0.popLast() }.flatMap { UnsafeMutableRawPointer(bitPattern: $0) }
            ?? malloc(PieceCutter.size)
    }

    func put(_ address: UInt) {
        let isKept = addresses.withLock { addresses in
            guard addresses.count < Self.maximumPieces else { return false }
            addresses.append(address)
            return true
        }
        if !isKept { free(UnsafeMutableRawPointer(bitPattern: address)) }
    }
}
