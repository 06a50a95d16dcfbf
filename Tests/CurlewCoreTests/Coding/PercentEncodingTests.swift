internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Percent encoding and file extensions", .timeLimit(.minutes(1)))
struct PercentEncodingTests {
    @Test("everything but unreserved, ? and / is escaped")
    func allBytes() {
        let kept = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~?/"
        for byte in UInt8(0)..<128 {
            let text = String(UnicodeScalar(byte))
            let expected = kept.contains(text) ? text : String(format: "%%%02X", Int(byte))
            #expect(PercentEncoding.encode(text) == expected)
        }
        #expect(PercentEncoding.encode("") == "")
        #expect(
            PercentEncoding.encode("ü 👨‍👩‍👧&=+")
                == "%C3%BC%20%F0%9F%91%A8%E2%80%8D%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7%26%3D%2B")
    }

    @Test("a long string of composed characters stays fast")
    func long() {
        let text = String(repeating: "👨‍👩‍👧‍👦", count: 20_000)
        #expect(PercentEncoding.encode(text).utf8.count == text.utf8.count * 3)
    }

    @Test(
        "file extensions have MIME types",
        arguments: [
            ("PNG", "image/png"), ("json", "application/json"), ("", "application/octet-stream"),
            ("nope", "application/octet-stream"),
        ])
    func extensions(fileExtension: String, type: String) {
        #expect(FileExtension.mimeType(for: fileExtension) == type)
    }
}
