/// What a terminal shows instead of bytes that it cannot show.
enum BinaryNotice {
    static let response = boxed("NOTE: binary data not shown in terminal")

    /// Text has no NUL; nearly everything else has one early on.
    static func isBinary(_ bytes: some Sequence<UInt8>) -> Bool { bytes.contains(0) }

    private static func boxed(_ text: String) -> String {
        let edge = "+" + String(repeating: "-", count: text.count + 2) + "+"
        return "\(edge)\n| \(text) |\n\(edge)"
    }
}
