internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Multipart layout", .timeLimit(.minutes(4)))
struct MultipartLayoutTests {
    @Test("the content length is exact, and unknown if the sum overflows")
    func length() throws {
        let headers: HTTPHeaders = ["Content-Disposition": "form-data; name=\"a\""]
        let layout = try MultipartLayout(
            boundary: "x", parts: [.init(headers: headers, length: 5), .init(headers: [:], length: 0)])
        let framing = layout.pieces.map { piece in
            if case .framing(let bytes) = piece { return String(decoding: bytes, as: UTF8.self) }
            return "…"
        }
        #expect(
            framing == [
                "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n", "…", "\r\n--x\r\n\r\n", "…",
                "\r\n--x--\r\n",
            ])
        #expect(layout.contentLength == Int64(framing.joined().utf8.count - 2 * "…".utf8.count + 5))
        #expect(try MultipartLayout(boundary: "x", parts: [.init(headers: [:], length: .max)]).contentLength == nil)
        #expect(try MultipartLayout(boundary: "x", parts: []).pieces == [.framing(Data("--x--\r\n".utf8))])
    }

    @Test(
        "a part's header that is malformed or would forge another line is refused",
        arguments: [("Content-Type", "a\r\nX: y"), ("X\nY", "v"), ("", "v"), ("N", "a\0b")])
    func injection(name: String, value: String) {
        var headers = HTTPHeaders()
        headers.append(name: name, value: value)
        let error = #expect(throws: CurlewError.self) {
            try MultipartLayout(boundary: "x", parts: [.init(headers: headers, length: 0)])
        }
        #expect(error?.code == .multipartEncodingFailed)
    }

    @Test(
        "a boundary that RFC 2046 forbids is refused",
        arguments: ["", "a\r\n", "a ", "ü", String(repeating: "x", count: 71)])
    func boundary(text: String) {
        #expect(throws: CurlewError.self) { try MultipartLayout(boundary: text, parts: []) }
    }

    @Test("names in Content-Disposition cannot end their quotes, their line or their header")
    func names() {
        #expect(
            MultipartLayout.formDisposition(name: "a\"\n\r\r\n\0b", filename: "\"\n\r\r\n\0ü")
                == "form-data; name=\"a%22%0D%0A%0D%0A%0D%0A\0b\"; filename=\"%22%0A%0D%0D%0A\0ü\"")
    }
}
