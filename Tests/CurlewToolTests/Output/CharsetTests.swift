import Testing

@testable import CurlewTool

@Suite("Charsets")
struct CharsetTests {
    private func decoded(_ bytes: [UInt8], _ charset: String, pieces: Int = 1) throws -> String {
        var decoder = try #require(CharsetDecoder(charset: charset))
        var out: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            out += decoder.decode(bytes[start..<min(start + pieces, bytes.count)])
        }
        out += decoder.finish()
        return String(decoding: out, as: UTF8.self)
    }

    @Test(
        "characters of several bytes, also cut apart",
        arguments: [
            ("Shift_JIS", [0x93, 0xFA, 0x96, 0x7B], "日本"), ("EUC-JP", [0xC6, 0xFC, 0xCB, 0xDC], "日本"),
            ("ISO-2022-JP", [0x1B, 0x24, 0x42, 0x46, 0x7C, 0x4B, 0x5C, 0x1B, 0x28, 0x42, 0x61], "日本a"),
            ("gbk", [0xD6, 0xD0, 0x61], "中a"), ("GB2312", [0xD6, 0xD0], "中"), ("big5", [0xA4, 0xA4], "中"),
            ("euc-kr", [0xC7, 0xD1], "한"), ("windows-1251", [0xCF], "П"), ("koi8-r", [0xF0], "П"),
            ("iso-8859-2", [0xB1], "ą"), ("utf-16le", [0x61, 0, 0xE5, 0x65], "a日"), ("latin1", [0xE9, 0x80], "é€"),
        ] as [(String, [UInt8], String)])
    func decodes(_ charset: String, _ bytes: [UInt8], _ text: String) throws {
        #expect(try decoded(bytes, charset, pieces: bytes.count) == text)
        #expect(try decoded(bytes, charset) == text)
    }

    @Test func replacesWhatIsNoText() throws {
        #expect(try decoded([0x61, 0xFF, 0x62], "euc-jp", pieces: 3) == "a\u{FFFD}b")
        #expect(try decoded([0x61, 0x93], "shift_jis") == "a\u{FFFD}")
        let long = [UInt8](repeating: 0x41, count: 100_000)
        #expect(try decoded(long, "euc-jp", pieces: 70_000).utf8.count == 100_000)
    }

    @Test func knowsWhatItKnows() {
        #expect(CharsetDecoder.isKnown("UTF-8"))
        #expect(CharsetDecoder(charset: "utf-8") == nil)
        for name in ["klingon", "", "../x", "utf-16//TRANSLIT", "a b", String(repeating: "x", count: 100)] {
            #expect(!CharsetDecoder.isKnown(name))
        }
    }

    @Test func comesBeforeEverythingElse() {
        var look = Look()
        look.charset = "utf-16le"
        var formatter = BodyFormatter(
            kind: MediaKind(contentType: "application/json; charset=latin1", look: look),
            target: .init(isTerminal: true, pretty: .format, look: look))
        var out: [UInt8] = []
        formatter.feed(Array("[1]".utf8).flatMap { [$0, 0] }, into: &out)
        formatter.finish(into: &out)
        #expect(String(decoding: out, as: UTF8.self) == "[\n    1\n]\n")
    }
}
