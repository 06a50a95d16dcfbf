/// Reads the files of items, for all requests of a command. A pipe can be read only once, so its bytes are stored: a
/// second item with the same path, or the next download, gets the same bytes.
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
