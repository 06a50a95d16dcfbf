/// The notice that a terminal shows instead of binary data.
enum BinaryNotice {
    static let response = boxed("NOTE: binary data not shown in terminal")

    /// Whether the bytes contain a NUL. Text has none; most binary formats have one early.
    static func isBinary(_ bytes: some Sequence<UInt8>) -> Bool { bytes.contains(0) }

    private static func boxed(_ text: String) -> String {
        let edge = "+" + String(repeating: "-", count: text.count + 2) + "+"
        return "\(edge)\n| \(text) |\n\(edge)"
    }
}
