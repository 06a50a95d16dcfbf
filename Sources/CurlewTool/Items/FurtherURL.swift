/// The reading of a word after the first URL of `--download`, judged by its form: `b.org/2?x=1` and `host:9901/b` are
/// URLs, `X-Count:1` and `a=b` are items.
enum FurtherURL: Equatable {
    case url
    case item
    /// Both readings make sense: `host:9901`, `X-Part:1/2`.
    case ambiguous

    init(_ word: String) {
        let end = word.firstIndex { $0 == "/" || $0 == "?" } ?? word.endIndex
        let hasPath = end < word.endIndex
        var host = word[..<end]
        var port: Substring?
        if let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") {
            port = host[host.index(after: colon)...]
            host = host[..<colon]
        }
        let isAddress = host.hasPrefix("[") && host.hasSuffix("]")
        guard isAddress || !host.isEmpty && host.utf8.allSatisfy(Self.isOfHost) else {
            self = .item
            return
        }
        let isClear = isAddress || host.contains(".") || host.lowercased() == "localhost"
        guard let port else {
            self = hasPath && isClear || isAddress ? .url : .item
            return
        }
        guard let number = Int(port), 1...65535 ~= number else {
            self = .item
            return
        }
        // Header names are usually written with capitals and hyphens, local host names without.
        let isLowercase = !host.contains { $0.isUppercase }
        if hasPath {
            self = isClear || isLowercase ? .url : .ambiguous
        } else {
            self = isClear || isLowercase && !host.contains("-") ? .ambiguous : .item
        }
    }

    private static func isOfHost(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || ".-_".utf8.contains(byte) || byte >= 0x80
    }
}
