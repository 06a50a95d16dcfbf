internal import Foundation

/// One `ITEM` of the command line: a key, a separator and a value.
struct RequestItem: Equatable, Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case header = ":"
        case emptyHeader = ";"
        case headerFile = ":@"
        case query = "=="
        case queryFile = "==@"
        case text = "="
        case textFile = "=@"
        case json = ":="
        case jsonFile = ":=@"
        case file = "@"

        /// Whether the item is part of the body.
        var isBody: Bool {
            switch self {
            case .text, .textFile, .json, .jsonFile, .file: true
            case .header, .emptyHeader, .headerFile, .query, .queryFile: false
            }
        }
    }

    let kind: Kind
    let key: String
    let value: String
    /// The item as typed, for messages.
    let original: String

    /// Parses an item. The separator is the first one without a backslash before it; of two that begin at the same
    /// position, the longer one wins. A backslash before `:`, `;`, `=` or `@` makes that character literal and is
    /// removed. Before any other character it is kept.
    init(parsing word: String) throws(UsageError) {
        original = word
        let characters = Array(word)
        var text: [Character] = []
        var found: (kind: Kind, key: String)?
        var index = 0
        while index < characters.count {
            let character = characters[index]
            if character == "\\", index + 1 < characters.count {
                let next = characters[index + 1]
                text += Self.special.contains(next) ? [next] : [character, next]
                index += 2
            } else if found == nil, let kind = Self.separator(at: index, in: characters) {
                found = (kind, String(text))
                text = []
                index += kind.rawValue.count
            } else {
                text.append(character)
                index += 1
            }
        }
        guard let found else { throw Self.notAnItem(word) }
        if found.kind == .emptyHeader, !text.isEmpty {
            throw UsageError("'\(word)': a header without a value is written 'Name;'", hint: "A value follows a colon.")
        }
        kind = found.kind
        key = found.key
        value = String(text)
    }

    private static let special: Set<Character> = [":", ";", "=", "@"]

    /// Longest first, so that `:=@` is not read as `:`.
    private static let separators = Kind.allCases.map { ($0, Array($0.rawValue)) }
        .sorted { $0.1.count > $1.1.count }

    private static func separator(at index: Int, in characters: [Character]) -> Kind? {
        guard special.contains(characters[index]) else { return nil }
        return separators.first { characters[index...].starts(with: $0.1) }?.0
    }

    private static func notAnItem(_ word: String) -> UsageError {
        UsageError(
            "'\(word)' is not a request item",
            hint: "Items are key=value, key:=json, key==query, Header:value, file@path. 'curlew help items' says more."
        )
    }
}

/// The value of a file item, `path;type=text/plain`: a path and an optional media type.
struct ItemFile: Equatable, Sendable {
    let path: String
    let mediaType: String?

    init(parsing value: String) {
        guard let marker = value.range(of: ";type=", options: .backwards), marker.upperBound < value.endIndex else {
            path = value
            mediaType = nil
            return
        }
        path = String(value[..<marker.lowerBound])
        mediaType = String(value[marker.upperBound...])
    }
}

/// Reads the files of items and standard input, for all requests of a command. A pipe can be read only once, so its
/// bytes are stored: a second item with that path, or the next URL, gets them too.
final class ItemFiles {
    private var streams: [String: [UInt8]] = [:]
    private var input: [UInt8]?

    /// Returns the bytes of standard input. Only the first call reads them, with `read`.
    func standardInput(_ read: () throws(UsageError) -> [UInt8]) throws(UsageError) -> [UInt8] {
        if let input { return input }
        let bytes = try read()
        input = bytes
        return bytes
    }

    func read(_ path: String) throws(UsageError) -> [UInt8] {
        if let bytes = streams[path] { return bytes }
        let isStream = InputFile.isStream(path)
        let bytes = try InputFile.read(path)
        if isStream { streams[path] = bytes }
        return bytes
    }
}
