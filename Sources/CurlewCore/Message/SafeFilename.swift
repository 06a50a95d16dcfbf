extension ContentDisposition {
    /// The file name as a single path component that is harmless on disk; nil where nothing is left of it.
    public var safeFilename: String? { filename.flatMap(SafeFilename.make) }
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
        while let first = kept.first, first == "." || first.properties.isWhitespace { kept.removeFirst() }
        while let end = kept.last, end == "." || end.properties.isWhitespace { kept.removeLast() }
        return kept.isEmpty ? nil : shortened(String(kept))
    }

    private static func isOnlyDots(_ part: Substring.UnicodeScalarView) -> Bool {
        part.allSatisfy { $0 == "." || $0.properties.isWhitespace }
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: false
        default: true
        }
    }

    /// Cut before the extension, at a character's border.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > maximumLength else { return name }
        var stem = name[...]
        var ending = ""
        if let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= 32 {
            ending = String(name[dot...])
            stem = name[..<dot]
        }
        while stem.utf8.count + ending.utf8.count > maximumLength { stem.removeLast() }
        return stem.isEmpty ? String(ending.drop { $0 == "." }) : stem + ending
    }
}
