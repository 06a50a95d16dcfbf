internal import CurlewLocks

/// The file of an entry that a lookup found. Opened at once or at the first read.
final class StoredFile: Sendable {
    private let path: String
    private let size: Int64
    private let opened: Lock<BodyFile?>

    /// Call it on a lane; it blocks.
    init(_ path: String, size: Int64, isOpen: Bool) throws(BodyFault) {
        self.path = path
        self.size = size
        if isOpen {
            opened = Lock(try BodyFile(path, size: size))
        } else {
            try BodyFile.expect(path, size: size)
            opened = Lock(nil)
        }
    }

    /// Returns the open file, which all readers of the body share. Call it on a lane; it blocks.
    func open() throws(BodyFault) -> BodyFile {
        if let file = opened.withLock({ $0 }) { return file }
        let file = try BodyFile(path, size: size)
        return opened.withLock { opened in
            // Another reader opened the file in the meantime. Its file is used, and this one closes.
            if let other = opened { return other }
            opened = file
            return file
        }
    }
}
