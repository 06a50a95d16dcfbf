extension ContentDisposition {
    /// The file name as a single path component that is harmless on disk; `nil` if nothing remains of it.
    package var safeFilename: String? { filename.flatMap(SafeFilename.make) }
}

/// Makes a harmless path component from a name that a server chose.
package enum SafeFilename {
    /// NAME_MAX of Linux's file systems.
    static let maximumLength = 255

    /// Returns the last part between slashes or backslashes that is more than dots; `nil` if nothing remains of it.
    ///
    /// Control characters are removed, and so are those that reverse the direction of the text, which disguise an
    /// extension (`exe.txt` spelled backwards). Dots and blanks are removed from both ends, so that the file is not
    /// hidden. A name above `maximumLength` is shortened.
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

    /// Shortens the part in front of the extension. It cuts between characters if it can: a single character may have
    /// more combining marks than a name may have bytes.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > maximumLength else { return name }
        var stem = name[...]
        var ending = ""
        if let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= 32 {
            ending = String(name[dot...])
            stem = name[..<dot]
        }
        let room = maximumLength - ending.utf8.count
        // Much longer names are cut at once, because the loop below removes one character at a time.
        if stem.utf8.count > 8 * maximumLength { stem = Substring(stem.unicodeScalars.prefix(4 * maximumLength)) }
        var cut = stem
        while cut.utf8.count > room { cut.removeLast() }
        var kept = (cut.isEmpty ? stem : cut).unicodeScalars
        while String(kept).utf8.count > room { kept.removeLast() }
        if ending.isEmpty { trimEnd(&kept) }
        return String(kept) + ending
    }
}
