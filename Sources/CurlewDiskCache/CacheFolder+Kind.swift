internal import CurlewCore
internal import Foundation
internal import Glibc

extension CacheFolder {
    /// What a directory is to a store, as far as its names tell.
    private enum Kind: Equatable, Sendable {
        /// There is nothing of that name.
        case missing
        /// It has nothing in it, or a store that is being made.
        case empty
        case cache
        /// It has files that no store has made, or is no directory.
        case other
        /// The system does not let it be looked at; `errno`.
        case unreadable(Int32)
    }

    /// Throws where there is no store, unless one can be made that touches no file of others.
    func expectStore(orRoomForOne creates: Bool) throws(CurlewError) {
        switch kind {
        case .cache: return
        case .other:
            let reason = "\(path) has files that no cache has made, or is no directory. It is left as it is"
            throw CurlewError(.destinationExists, phase: .file, reason: reason)
        // Making it finds out more about what cannot be looked at.
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
            // A file, unless it is one further up that is in the way.
            case ENOTDIR where stat(path, &status) == 0: return .other
            default: return .unreadable(code)
            }
        }
        closedir(stream)
        let names = Set((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
        // A store makes the index last, and removes it for a moment when it is cleared.
        if names.isSuperset(of: ["bodies", "lock"]) { return .cache }
        return names.isSubset(of: Self.namesBeforeTheIndex) ? .empty : .other
    }

    /// What a process may have left that ended while it made a store, and what file systems make themselves.
    private static let namesBeforeTheIndex: Set<String> = ["bodies", "lock", "lost+found"]
}
