internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Content-Disposition", .timeLimit(.minutes(4)))
struct ContentDispositionConformance {
    @Test("the file name of a response is read from its Content-Disposition")
    func parsing() throws {
        struct Case: CorpusCase {
            let id: String
            let header: String?
            let header_hex: String?
            let filename: String?
            let level: String
            var group: String { level }
        }
        try conform("content-disposition", expectedDifferences: Self.differences) { (item: Case) in
            guard item.level != "differs" else { return .notCounted }
            let header = item.header ?? headerText(Data(hex: item.header_hex ?? "") ?? Data())
            return .compare(ContentDisposition(parsing: header).filename, item.filename)
        }
    }

    @Test("extended values decode, and headers are written")
    func writing() throws {
        struct Options: Decodable {
            let type: String?
            let fallback: ContentDisposition.Fallback?

            enum Keys: CodingKey { case type, fallback }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                type = try container.decodeIfPresent(String.self, forKey: .type)
                if let flag = try? container.decode(Bool.self, forKey: .fallback) {
                    fallback = flag ? .automatic : ContentDisposition.Fallback.none
                } else {
                    fallback = try container.decodeIfPresent(String.self, forKey: .fallback).map { .text($0) }
                }
            }
        }
        struct Case: CorpusCase {
            let id: String
            let kind: String
            let input: String?
            let filename: String?
            let options: Options?
            let header: String?
            let decoded: [String: String]?
            var group: String { kind }

            enum Keys: CodingKey { case id, kind, input, arguments, expected }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                id = try container.decode(String.self, forKey: .id)
                kind = try container.decode(String.self, forKey: .kind)
                input = try container.decodeIfPresent(String.self, forKey: .input)
                header = try? container.decode(String.self, forKey: .expected)
                decoded = try? container.decode([String: String].self, forKey: .expected)
                var name: String?
                var options: Options?
                if container.contains(.arguments) {
                    var list = try container.nestedUnkeyedContainer(forKey: .arguments)
                    if !list.isAtEnd { name = try list.decodeIfPresent(String.self) }
                    if !list.isAtEnd { options = try list.decode(Options.self) }
                }
                filename = name
                self.options = options
            }
        }
        try conform("content-disposition-encode") { (item: Case) in
            guard item.kind == "create" else {
                let value = ExtendedValue.decode(item.input ?? "")
                return .compare(
                    value.map { [$0.value, $0.language] },
                    item.decoded.map { [$0["value"] ?? "", $0["language"] ?? ""] })
            }
            let written = ContentDisposition(
                type: item.options?.type ?? "attachment", filename: item.filename,
                fallback: item.options?.fallback ?? .automatic)
            return .compare(written.headerValue, item.header ?? "")
        }
    }

    static let differences = [
        "cd-10f431859f": "browsers turn control characters into blanks; `safeFilename` drops them",
        "cd-bb62685817": "a malformed RFC 2047 word is taken as it stands",
        "cd-bed467db0d": "a malformed RFC 2047 word is taken as it stands",
        "cd-04bd847aa1": "a malformed RFC 2047 word is taken as it stands",
        "cd-61152c8f02": "Chromium guesses a charset from the user's locale",
        "cd-e9ce2724df": "escapes that are malformed are taken as they stand",
        "cd-fcbe8e7b2c": "a blank must be escaped in an extended value (RFC 8187)",
        "cd-084f670411": "Foundation on Linux cannot decode EUC-JP",
        "cd-attwithfilenamepctandiso": "ISO 8859-1 bytes are read as such; Chromium refuses them",
        "cd-attfnbrokentokeniso": "ISO 8859-1 bytes are read as such; Chromium refuses them",
        "cd-44a7873248": "an extended value is not quoted (RFC 8187)",
        "cd-cc35e8a43b": "an extended value needs its charset (RFC 8187)",
        "cd-b1b3c0e3a9": "an extended value needs its two quotes (RFC 8187)",
        "cd-2cfa7bc14a": "an extended value needs its charset (RFC 8187)",
        "cd-073e317c9c": "RFC 6266 has no RFC 2231 continuations; Chromium has none either",
        "cd-ed7b8c1857": "RFC 6266 has no RFC 2231 continuations; Chromium has none either",
        "cd-5c1bf272b4": "RFC 6266 has no RFC 2231 continuations; Chromium has none either",
        "cd-2066b3cba2": "RFC 6266 has no RFC 2231 continuations; Chromium has none either",
        "cd-de8cc3b29b": "RFC 6266 has no RFC 2231 continuations; Chromium has none either",
        "cd-02187eca74": "RFC 6266 has no RFC 2231 continuations; Chromium has none either",
        "cd-15db171bf4": "RFC 6266 has no RFC 2231 continuations; Chromium has none either",
    ]
}
