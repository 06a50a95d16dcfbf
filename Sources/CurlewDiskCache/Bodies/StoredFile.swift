internal import CurlewLocks

/// The file of an entry that was found: open, or opened when it is first read.
final class StoredFile: Sendable {
    private let path: String
    private let size: Int64
    private let opened: Lock<BodyFile?>

    /// On a lane.
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

    /// On a lane. The file stays open for all readers of the body.
    func open() throws(BodyFault) -> BodyFile {
        if let file = opened.withLock({ $0 }) { return file }
        let file = try BodyFile(path, size: size)
        return opened.withLock { opened in
            // Another reader may have been faster; one of the two is closed.
            if let other = opened { return other }
            opened = file
            return file
        }
    }
}
