internal import CurlewCore
internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Chooses the directory of a download's temporary file: that of the destination, so that the final move is a rename.
enum DestinationDirectory {
    /// The destination's directory if a file can be created there, otherwise the directory for temporary files.
    static func forTemporaryFile(beside destination: URL?) -> String {
        if let destination {
            let parent = FileMove.parent(of: destination.path(percentEncoded: false))
            if FileMove.isDirectory(parent), access(parent, W_OK | X_OK) == 0 { return parent }
        }
        return temporary
    }

    /// TMPDIR, or the system's temporary directory.
    static var temporary: String {
        let path = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Creates `path` and its missing parents. Returns the directories that were created, outermost first.
    static func create(_ path: String) throws(CurlewError) -> [String] {
        var missing: [String] = []
        var current = path
        while !FileMove.exists(current), current != "/", current != "." {
            missing.append(current)
            current = FileMove.parent(of: current)
        }
        var made: [String] = []
        for directory in missing.reversed() {
            if mkdir(directory, 0o777) == 0 {
                made.append(directory)
            } else if errno != EEXIST {
                let number = errno
                removeIfEmpty(made)
                throw FileFailure.error(number, "making the directory", directory)
            }
        }
        return made
    }

    /// Removes directories that `create` made, unless they contain something.
    static func removeIfEmpty(_ directories: [String]) {
        for directory in directories.reversed() { rmdir(directory) }
    }
}
