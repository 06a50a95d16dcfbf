/// The files of items, for all requests of a command. What comes from a pipe can be read once, so it is kept: a second item with
/// its name, or the next download, gets the same bytes.
final class ItemFiles {
    private var streams: [String: [UInt8]] = [:]

    func read(_ path: String) throws(UsageError) -> [UInt8] {
        if let bytes = streams[path] { return bytes }
        let isStream = InputFile.isStream(path)
        let bytes = try InputFile.read(path)
        if isStream { streams[path] = bytes }
        return bytes
    }
}
