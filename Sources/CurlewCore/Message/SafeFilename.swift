extension ContentDisposition {
    /// The file name as a single path component that is harmless on disk; nil where nothing is left of it.
    package var safeFilename: String? { filename.flatMap(SafeFilename.make) }
}

/// Makes one harmless path component of a name that a stranger chose.
package enum SafeFilename {
    /// NAME_MAX on Linux's file systems.
    static let maximumLength = 255

    /// Keeps what follows the last slash or backslash; drops control characters and those that reverse the
    /// text's direction (`exe.txt` spelled backwards); no leading dot, so that nothing hides or climbs up.
    package static func make(_ name: String) -> String? {
        let parts = name.unicodeScalars.split { $0 == "/" || $0 == "\\" }
        guard let last = parts.last(where: { !isOnlyDots($0) }) else { return nil }
        var kept = Substring.UnicodeScalarView(String.UnicodeScalarView(last.filter(isHarmless)))
        while let first = kept.first, isDotOrBlank(first) { kept.removeFirst() }
        trimEnd(&kept)
        return kept.isEmpty ? nil : shortened(String(kept))
    }

    private static func isDotOrBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "." || scalar.properties.isWhitespace
    }

    private static func trimEnd(_ text: inout Substring.UnicodeScalarView) {
        while let last = text.last, isDotOrBlank(last) { text.removeLast() }
    }

    private static func isOnlyDots(_ part: Substring.UnicodeScalarView) -> Bool {
        part.allSatisfy(isDotOrBlank)
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: false
        default: true
        }
    }

    /// Cut before the extension, at a character's border where there is one: a single character may have more
    /// combining marks than a name has bytes.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > maximumLength else { return name }
        var stem = name[...]
        var ending = ""
        if let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= 32 {
            ending = String(name[dot...])
            stem = name[..<dot]
        }
        let room = maximumLength - ending.utf8.count
        // What is far too long is cut at once: the rest is looked at character by character.
        if stem.utf8.count > 8 * maximumLength { stem = Substring(stem.unicodeScalars.prefix(4 * maximumLength)) }
        var cut = stem
        while cut.utf8.count > room { cut.removeLast() }
        var kept = (cut.isEmpty ? stem : cut).unicodeScalars
        while String(kept).utf8.count > room { kept.removeLast() }
        if ending.isEmpty { trimEnd(&kept) }
        return String(kept) + ending
    }
}
