internal import CurlewCore
internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Where a download's temporary file belongs: beside its destination, so that the last move is a rename.
enum DestinationDirectory {
    /// The destination's own directory if a file can be made there, else the one for temporary files.
    static func forTemporaryFile(beside destination: URL?) -> String {
        if let destination {
            let parent = FileMove.parent(of: destination.path(percentEncoded: false))
            if FileMove.isDirectory(parent), access(parent, W_OK | X_OK) == 0 { return parent }
        }
        return temporary
    }

    /// TMPDIR, or the system's directory.
    static var temporary: String {
        let path = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Makes `path` and what is missing above it. The answer names what was made, outermost first.
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

    /// Takes back what `create` made, unless something is in it by now.
    static func removeIfEmpty(_ directories: [String]) {
        for directory in directories.reversed() { rmdir(directory) }
    }
}
