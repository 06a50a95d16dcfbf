internal import CurlewCore
internal import Testing

@Suite("MIME types and charsets", .timeLimit(.minutes(4)))
struct MediaTypeConformance {
    @Test("MIME types parse and serialise as the WHATWG says")
    func mimeTypes() throws {
        struct Case: CorpusCase {
            let id: String
            let input: String
            let expected: String?
            let encoding: String?
            var group: String { id.hasPrefix("mimegen") ? "generated" : "written" }
        }
        try conform("mime-types") { (item: Case) in
            let type = MediaType(item.input)
            let encoding = type?.charset.flatMap(CharsetLabel.init)?.name
            guard type?.description == item.expected else { return .compare(type?.description, item.expected) }
            return .compare(encoding, item.encoding)
        }
    }

    @Test("a response's content type is the last usable of its Content-Type values")
    func contentType() throws {
        struct Case: CorpusCase {
            struct Expected: Decodable {
                let mime_type: String?
                let encoding: String?
                let mime_type_lower: String?
                let charset_lower: String?
                let boundary: String?
            }
            let id: String
            let kind: String
            let header_lines: [String]
            let expected: Expected
            var group: String { kind }
        }
        let differences = [
            "content-type-chromium-10": "WHATWG: a blank before the quote makes the quotes part of the value",
            "content-type-chromium-18": "WHATWG keeps blanks inside quotes; the label lookup trims them",
            "content-type-chromium-19": "WHATWG keeps blanks inside quotes; the label lookup trims them",
            "content-type-chromium-33": "WHATWG: a type without a subtype is none",
            "content-type-chromium-34": "only Chromium reports no essence for */* without parameters",
        ]
        try conform("content-type", expectedDifferences: differences) { (item: Case) in
            if item.kind == "single" {
                let type = MediaType(item.header_lines[0])
                return .compare(
                    [type?.essence ?? "", type?.charset.map { $0.lowercased() }, type?.boundary],
                    [item.expected.mime_type_lower, item.expected.charset_lower, item.expected.boundary])
            }
            for lines in [item.header_lines, [item.header_lines.joined(separator: ", ")]] {
                let type = MediaType.effective(of: lines)
                let actual = [type?.description, type?.charset.flatMap(CharsetLabel.init)?.name]
                let expected = [item.expected.mime_type, item.expected.encoding]
                if actual != expected { return .compare(actual, expected) }
            }
            return .passed
        }
    }

    @Test("charset labels map to their encodings")
    func charsetLabels() throws {
        struct Case: CorpusCase {
            let id: String
            let label: String
            let encoding: String?
            let group: String
        }
        try conform("charset-labels") { (item: Case) in .compare(CharsetLabel(item.label)?.name, item.encoding) }
    }
}
