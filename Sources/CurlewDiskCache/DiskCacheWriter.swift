internal import CurlewCore
internal import Foundation

/// Stores one response. A small body stays in memory until it is complete; a larger one is written to its file in
/// pieces.
actor DiskCacheWriter: CacheWriter {
    private let store: DiskCacheStore
    private let entry: CacheEntry
    private let id: EntryID
    /// The maximum size of the body.
    private let limit: Int64
    /// The expected size of the body, if known.
    private let expectedSize: Int64?
    private let lane = Lane.nextForBodies()
    private var size: Int64 = 0
    private var buffer = Data()
    private var file: NewBodyFile?
    private var isOver = false

    init(_ store: DiskCacheStore, _ entry: CacheEntry, _ id: EntryID, limit: Int64, expectedSize: Int64?) {
        self.store = store
        self.entry = entry
        self.id = id
        self.limit = limit
        self.expectedSize = expectedSize
    }

    deinit {
        if let file { lane.enqueue { file.close(isKept: false) } }
    }

    func write(_ chunk: Data) async -> Bool {
        guard !isOver else { return false }
        size += Int64(chunk.count)
        guard size <= limit else { return await give(up: false) }
        let pieces = cut(chunk)
        if pieces.isEmpty { return true }
        return await write(pieces) ? true : await give(up: true)
    }

    /// Returns the pieces that this chunk completes and buffers the rest. Pieces within one chunk are not copied.
    private func cut(_ chunk: Data) -> [Data] {
        var rest = chunk
        var pieces: [Data] = []
        if !buffer.isEmpty {
            let missing = rest.prefix(BodyPieces.size - buffer.count)
            buffer.append(missing)
            rest = rest.dropFirst(missing.count)
            guard buffer.count == BodyPieces.size else { return [] }
            pieces.append(buffer)
            buffer = Data()
        }
        while rest.count >= BodyPieces.size {
            pieces.append(rest.prefix(BodyPieces.size))
            rest = rest.dropFirst(BodyPieces.size)
        }
        if !rest.isEmpty { buffer = Data(rest) }
        return pieces
    }

    func commit() async -> Bool {
        guard !isOver else { return false }
        if file != nil || buffer.count > DiskCacheStore.inlineLimit {
            guard await write(buffer.isEmpty ? [] : [buffer], isLast: true) else { return await give(up: true) }
        }
        isOver = true
        let bytes = file.map { BodyPieces.encoded($0.checks) } ?? buffer
        let row = IndexRow(id: id, entry: entry, size: size, isFile: file != nil, bytes: bytes)
        let isThere = await store.insert(row, file: file)
        if let file {
            self.file = nil
            await lane.run { file.close(isKept: isThere) }
        }
        return isThere
    }

    func drop() async {
        isOver = true
        discard()
    }

    private func write(_ pieces: [Data], isLast: Bool = false) async -> Bool {
        let (made, path, expectedSize) = (file, store.folder.body(id), expectedSize)
        let written = await lane.run { () -> (NewBodyFile?, Bool) in
            guard let file = made ?? NewBodyFile(path, expectedSize: expectedSize) else { return (nil, false) }
            return (file, pieces.allSatisfy { file.append($0) } && (!isLast || file.sync()))
        }
        file = written.0
        return written.1
    }

    /// Drops the entry. Always returns false, for the caller to return.
    private func give(up isFault: Bool) async -> Bool {
        if isFault { store.counts.count(\.failedWrites) }
        await drop()
        return false
    }

    private func discard() {
        buffer = Data()
        guard let file else { return }
        self.file = nil
        lane.enqueue { file.close(isKept: false) }
    }
}
