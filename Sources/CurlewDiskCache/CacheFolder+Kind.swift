internal import CurlewCore
internal import Foundation
internal import Glibc

extension CacheFolder {
    /// The contents of a directory, as far as its names tell.
    private enum Kind: Equatable, Sendable {
        /// The directory does not exist.
        case missing
        /// The directory is empty, or contains a store that is being created.
        case empty
        case cache
        /// The directory contains files that no store has created, or is no directory.
        case other
        /// The directory cannot be read; the value is `errno`.
        case unreadable(Int32)
    }

    /// Throws if the directory contains no store, unless `creates` is set and a store can be created without touching
    /// other files.
    func expectStore(orRoomForOne creates: Bool) throws(CurlewError) {
        switch kind {
        case .cache: return
        case .other:
            let reason = "\(path) has files that no cache has made, or is no directory. It is left as it is"
            throw CurlewError(.destinationExists, phase: .file, reason: reason)
        // Creating the store reports more precisely why a directory cannot be read.
        case .missing where creates, .empty where creates, .unreadable where creates: return
        case .missing, .empty:
            throw CurlewError(.destinationMissing, phase: .file, reason: "There is no cache in \(path)")
        case .unreadable(let code): throw SystemFault(errno: code).error(self)
        }
    }

    private var kind: Kind {
        guard let stream = opendir(path) else {
            let code = errno
            var status = stat()
            switch code {
            case ENOENT: return .missing
            // The path names a file. Otherwise a file is further up in the path.
            case ENOTDIR where stat(path, &status) == 0: return .other
            default: return .unreadable(code)
            }
        }
        closedir(stream)
        let names = Set((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
        // A store creates the index last, and removes it for a moment when it is cleared, so the index is not required.
        if names.isSuperset(of: ["bodies", "lock"]) { return .cache }
        return names.isSubset(of: Self.namesBeforeTheIndex) ? .empty : .other
    }

    /// The names that a process may have left if it ended while it created a store, and those that file systems create.
    private static let namesBeforeTheIndex: Set<String> = ["bodies", "lock", "lost+found"]
}
