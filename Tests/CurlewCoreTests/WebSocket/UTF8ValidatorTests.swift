internal import CurlewCore
internal import Testing

@Suite("UTF-8 validator", .timeLimit(.minutes(4)))
struct UTF8ValidatorTests {
    /// Passes the bytes one by one. Returns the index of the first one that is refused; `nil` if all are accepted.
    private static func refused(_ bytes: [UInt8]) -> Int? {
        var validator = UTF8Validator()
        for (index, byte) in bytes.enumerated() {
            guard withUnsafeBytes(of: byte, { validator.accepts($0) }) else { return index }
        }
        return nil
    }

    @Test(
        "the first byte that cannot be part of a text is refused",
        arguments: [
            ([0x80], 0), ([0xBF], 0), ([0xC0, 0x80], 0), ([0xC1, 0xBF], 0), ([0xF5, 0x80, 0x80, 0x80], 0), ([0xFE], 0),
            ([0xFF], 0), ([0xC2, 0x41], 1), ([0xC2, 0xC2], 1), ([0xE0, 0x9F, 0xBF], 1), ([0xE0, 0x80, 0x80], 1),
            ([0xED, 0xA0, 0x80], 1), ([0xED, 0xBF, 0xBF], 1), ([0xF0, 0x8F, 0xBF, 0xBF], 1),
            ([0xF4, 0x90, 0x80, 0x80], 1), ([0xE1, 0x80, 0x41], 2), ([0xF1, 0x80, 0x80, 0xC0], 3),
            ([0x41, 0xCE, 0xBA, 0xED, 0xA0, 0x80], 4), (Array("01234567".utf8) + [0xFF], 8),
        ] as [([UInt8], Int)])
    func refused(bytes: [UInt8], index: Int) {
        #expect(Self.refused(bytes) == index)
        var validator = UTF8Validator()
        #expect(!bytes.withUnsafeBytes { validator.accepts($0) })
    }

    @Test(
        "valid text is accepted wherever it is split",
        arguments: [
            "", "plain text that is longer than a word", "κόσμε", "\u{0}\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}",
            "\u{D7FF}\u{E000}\u{FFFD}", "\u{10000}\u{10FFFF}", "aä€𐍈 aä€𐍈 0123456789 ä 0123456789",
        ])
    func accepted(text: String) {
        let bytes = Array(text.utf8)
        for cut in 0...bytes.count {
            var validator = UTF8Validator()
            let first = bytes[..<cut].withUnsafeBytes { validator.accepts($0) }
            #expect(validator.isComplete == (String(validating: bytes[..<cut], as: UTF8.self) != nil))
            #expect(first && bytes[cut...].withUnsafeBytes { validator.accepts($0) } && validator.isComplete)
        }
    }

    @Test("sequences of four bytes are valid exactly if the standard library accepts them", arguments: 0xB0...0xFF)
    func exhaustive(first: Int) {
        let edges: [UInt8] = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xE0, 0xED, 0xF0, 0xF4]
        for second in edges {
            for third in edges {
                for fourth in edges {
                    let bytes = [UInt8(first), second, third, fourth]
                    var validator = UTF8Validator()
                    let isValid = bytes.withUnsafeBytes { validator.accepts($0) } && validator.isComplete
                    #expect(isValid == (String(validating: bytes, as: UTF8.self) != nil), "\(bytes)")
                }
            }
        }
    }

    @Test(
        "text that stops inside a character is not complete", arguments: [[0xC2], [0xE2, 0x82], [0xF0, 0x90, 0x8D]])
    func incomplete(bytes: [UInt8]) {
        var validator = UTF8Validator()
        #expect(bytes.withUnsafeBytes { validator.accepts($0) })
        #expect(!validator.isComplete)
    }
}
