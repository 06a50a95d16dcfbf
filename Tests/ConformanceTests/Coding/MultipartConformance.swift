internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Multipart form data", .timeLimit(.minutes(4)))
struct MultipartConformance {
    struct Case: CorpusCase {
        struct Part: Decodable {
            let name: String
            let value: String?
            let filename: String?
            let content_type: String?
            let content: String?
        }
        let id: String
        let source: String
        let parts: [Part]
        let expected_parts_hex: [String]
        var group: String { source }
    }

    @Test("names and file names are escaped as browsers do")
    func parts() throws {
        let differences = [
            "multipart-10": "a field's value is sent as it is: normalising its line ends is for HTML forms",
            "multipart-filename-controls-04":
                "a field's value is sent as it is: normalising its line ends is for HTML forms",
        ]
        try conform("multipart-form-data", expectedDifferences: differences) { (item: Case) in
            let contents = item.parts.map { Data(($0.value ?? $0.content ?? "").utf8) }
            let layout = try MultipartLayout(
                boundary: "b",
                parts: zip(item.parts, contents).map { part, content in
                    var headers = HTTPHeaders()
                    headers.append(
                        HTTPHeader(
                            name: "Content-Disposition",
                            value: MultipartLayout.formDisposition(name: part.name, filename: part.filename)))
                    if let type = part.content_type { headers.append(.contentType(type)) }
                    return .init(headers: headers, length: Int64(content.count))
                })
            var body = Data()
            var expected = Data()
            for piece in layout.pieces {
                switch piece {
                case .framing(let bytes): body += bytes
                case .content(let index): body += contents[index]
                }
            }
            for part in item.expected_parts_hex {
                expected += Data("--b\r\n".utf8) + (Data(hex: part) ?? Data()) + Data("\r\n".utf8)
            }
            expected += Data("--b--\r\n".utf8)
            guard layout.contentLength == Int64(body.count) else { return .failed("content length") }
            return .compare(String(decoding: body, as: UTF8.self), String(decoding: expected, as: UTF8.self))
        }
    }
}
