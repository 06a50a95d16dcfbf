internal import Foundation

/// The user's languages. On Linux, Foundation's own list ignores the environment.
enum PreferredLanguages {
    /// Returns the languages of `LANGUAGE`, followed by that of the first variable of `LC_ALL`, `LC_MESSAGES` and
    /// `LANG` that is set, as gettext reads them. Returns `fallback` if none is set or the first one names no language.
    static func list(in environment: [String: String], otherwise fallback: [String]) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        // gettext ignores LANGUAGE in the C locale.
        guard let own = tag(locale) else { return fallback }
        var languages = (environment["LANGUAGE"] ?? "").split(separator: ":").compactMap { tag(String($0)) }
        if !languages.contains(own) { languages.append(own) }
        var seen: Set<String> = []
        return languages.filter { seen.insert($0).inserted }
    }

    /// Returns `de-AT` for `de_AT.UTF-8@euro`, and `nil` if the locale is not a language.
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

/// Restricts text to the characters that a header field can contain.
enum ASCIIText {
    /// Transliterates letters of other scripts to Latin ones. Characters without a transliteration become question
    /// marks.
    static func transliterated(_ text: String) -> String {
        var text = text
        if !text.utf8.allSatisfy({ $0 < 0x80 }) {
            let rule = StringTransform(rawValue: "Any-Latin; Latin-ASCII")
            text = text.applyingTransform(rule, reverse: false) ?? text
        }
        return String(text.unicodeScalars.map { (0x20..<0x7F).contains($0.value) ? Character($0) : "?" })
    }
}
