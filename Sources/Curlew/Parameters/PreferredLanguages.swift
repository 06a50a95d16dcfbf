internal import Foundation

/// The user's languages. Foundation's own list does not look at the environment on Linux.
enum PreferredLanguages {
    /// `LANGUAGE` is a list, as gettext reads it; then come `LC_ALL`, `LC_MESSAGES` and `LANG`, of which the first that
    /// is set counts. Without any language there Foundation's list is taken.
    static func list(in environment: [String: String], otherwise fallback: [String]) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        // gettext ignores LANGUAGE in the C locale.
        guard let own = tag(locale) else { return fallback }
        var languages = (environment["LANGUAGE"] ?? "").split(separator: ":").compactMap { tag(String($0)) }
        if !languages.contains(own) { languages.append(own) }
        var seen: Set<String> = []
        return languages.filter { seen.insert($0).inserted }
    }

    /// `de_AT.UTF-8@euro` as `de-AT`; nil where it is no language.
    static func tag(_ locale: String) -> String? {
        let name = String(locale.prefix { $0 != "." && $0 != "@" })
        guard name != "C", name != "POSIX", name.utf8.count >= 2 else { return nil }
        let tag = name.replacing("_", with: "-")
        let isSound = tag.utf8.allSatisfy {
            $0 == 0x2D || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
        }
        return isSound ? tag : nil
    }
}

/// Text as what may stand in a header field.
enum ASCIIText {
    /// Letters of other scripts become Latin ones where there is a custom for that; what has none is a question mark.
    static func transliterated(_ text: String) -> String {
        var text = text
        if !text.utf8.allSatisfy({ $0 < 0x80 }) {
            let rule = StringTransform(rawValue: "Any-Latin; Latin-ASCII")
            text = text.applyingTransform(rule, reverse: false) ?? text
        }
        return String(text.unicodeScalars.map { (0x20..<0x7F).contains($0.value) ? Character($0) : "?" })
    }
}
