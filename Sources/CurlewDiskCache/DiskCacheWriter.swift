internal import CurlewCore
internal import Foundation

/// Stores one response. Small bodies stay in memory until they are complete; larger ones go to their file piece by piece.
// SAFETY: called by one task at a time; the lane works only while that task waits for it, or after its end.
final class DiskCacheWriter: CacheWriter, @unchecked Sendable {
    private let store: DiskCacheStore
    private let entry: CacheEntry
    private let id: EntryID
    /// How many bytes the body may have.
    private let limit: Int64
    private let lane = Lane.nextForBodies()
    private var size: Int64 = 0
    private var buffer = Data()
    private var file: NewBodyFile?
    private var isOver = false

    init(_ store: DiskCacheStore, _ entry: CacheEntry, _ id: EntryID, limit: Int64) {
        self.store = store
        self.entry = entry
        self.id = id
        self.limit = limit
    }

    deinit { discard() }

    func write(_ chunk: Data) async -> Bool {
        guard !isOver else { return false }
        size += Int64(chunk.count)
        guard size <= limit else { return await give(up: false) }
        buffer.append(chunk)
        guard buffer.count >= BodyPieces.size else { return true }
        var pieces: [Data] = []
        while buffer.count - pieces.count * BodyPieces.size >= BodyPieces.size {
            let start = buffer.startIndex + pieces.count * BodyPieces.size
            pieces.append(buffer[start..<start + BodyPieces.size])
        }
        buffer = Data(buffer.dropFirst(pieces.count * BodyPieces.size))
        return await write(pieces) ? true : await give(up: true)
    }

    func commit() async -> Bool {
        guard !isOver else { return false }
        if file != nil || buffer.count > DiskCacheStore.inlineLimit {
            guard await write(buffer.isEmpty ? [] : [buffer], isLast: true) else { return await give(up: true) }
        }
        isOver = true
        let bytes = file.map { BodyPieces.encoded($0.checks) } ?? buffer
        let row = IndexRow(id: id, entry: entry, size: size, isFile: file != nil, bytes: bytes)
        let isThere = await store.insert(row)
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
        let (made, path) = (file, store.folder.body(id))
        let written = await lane.run { () -> (NewBodyFile?, Bool) in
            guard let file = made ?? NewBodyFile(path) else { return (nil, false) }
            return (file, pieces.allSatisfy { file.append($0) } && (!isLast || file.sync()))
        }
        file = written.0
        return written.1
    }

    /// False, for the caller to return.
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
