import Testing

@testable import CurlewTool

/// Formatting changes white space and nothing else, for every body.
@Suite("Nothing of a body gets lost")
struct LosslessTests {
    /// A generator whose numbers are equal in every run.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    private static let pieces = [
        "<", ">", "</", "/>", "<!--", "-->", "<![CDATA[", "]]>", "<?", "?>", "<!DOCTYPE a", "[", "]", "\"", "'", "=",
        " ",
        "\n", "a", "<a>", "</a>", "<p>", "</p>", "<pre>", "</pre>", "<script>", "</script>", "<b>", "</b>", "<br>",
        "<li>",
        "é", "{", "}", ":", ",", "1", "\"k\"", "\\", "\u{FEFF}", "data: ", "<a x=\"1\">", "xml:space=\"preserve\"",
    ]

    private func solid(_ text: String) -> [UInt8] { text.utf8.filter { !Shaping.isSpace($0) } }

    @Test(arguments: ["application/xml", "text/html", "text/plain", "application/json"])
    func keepsEveryByte(_ type: String) {
        var numbers = Numbers(state: 42)
        var sorting = Look()
        sorting.format.sortsHeaders = true
        for _ in 0..<1500 {
            let count = Int.random(in: 0...24, using: &numbers)
            let body = (0..<count).map { _ in Self.pieces.randomElement(using: &numbers) ?? "" }.joined()
            #expect(solid(shaped(body, type: type, look: sorting)) == solid(body), "\(body.debugDescription)")
            // Colours alone change no character of the body.
            let colored = shaped(body, type: type, pretty: .colors)
            let plain = colored.replacing(/\u{1B}\[[0-9;]*m/, with: "")
            #expect(plain == body, "\(body.debugDescription)")
        }
    }
}
