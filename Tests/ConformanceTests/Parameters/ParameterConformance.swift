internal import Curlew
internal import CurlewCore
internal import Foundation
internal import FoundationNetworking
internal import Testing

@Suite("Query and form parameters", .timeLimit(.minutes(4)))
struct ParameterConformance {
    struct Case: CorpusCase {
        let id: String
        let source: String
        let options: [String: String]
        let parameters: JSONValue
        let expected: String
        var group: String { source }
    }

    @Test("parameters encode as Alamofire and AFNetworking encode them")
    func queryParameters() throws {
        try conform("query-parameters") { (item: Case) in
            let untyped = try Self.untyped(item)
            // AFNetworking has only untyped parameters. For typed ones, Alamofire sorts whole pairs instead of keys.
            if item.source == "AFNetworking" { return .compare(untyped, item.expected) }
            let typed = try Self.typed(item)
            guard typed == item.expected else { return .compare(typed, item.expected) }
            return .compare(untyped ?? item.expected, item.expected)
        }
    }

    static func url(_ item: Case) -> String {
        "http://x.test/" + (item.options["existing_query"].map { "?\($0)" } ?? "")
    }

    /// Encodes the case with `URLEncodedFormEncoder`.
    static func typed(_ item: Case) throws -> String? {
        let encoder = URLEncodedFormEncoder(
            arrayEncoding: ["no_brackets": .noBrackets, "index_in_brackets": .indexInBrackets][
                item.options["array_encoding"] ?? ""] ?? .brackets,
            boolEncoding: item.options["bool_encoding"] == "literal" ? .literal : .numeric,
            dateEncoding: [
                "seconds_since_1970": .secondsSince1970, "milliseconds_since_1970": .millisecondsSince1970,
                "iso8601": .iso8601,
            ][item.options["date_encoding"] ?? ""] ?? .deferredToDate,
            keyEncoding: [
                "snake_case": .convertToSnakeCase, "kebab_case": .convertToKebabCase, "capitalized": .capitalized,
                "uppercased": .uppercased, "lowercased": .lowercased,
            ][item.options["key_encoding"] ?? ""] ?? .useDefaultKeys,
            nilEncoding: ["null": .null, "drop_value": .dropValue][item.options["nil_encoding"] ?? ""] ?? .dropKey)
        let request = try URLRequest(url: #require(URL(string: url(item))))
        return try URLEncodedFormParameterEncoder(encoder: encoder, destination: .queryString)
            .encode(item.parameters, into: request).url?.query(percentEncoded: true)
    }

    /// Encodes the case with `URLEncoding`. Returns `nil` if `URLEncoding` lacks an option of the case.
    static func untyped(_ item: Case) throws -> String? {
        guard Set(item.options.keys).isSubset(of: ["array_encoding", "existing_query", "bool_encoding"]),
            let parameters = item.parameters.untyped as? [String: any Any & Sendable]
        else { return nil }
        let encoding = URLEncoding(
            destination: .queryString,
            arrayEncoding: ["no_brackets": .noBrackets, "index_in_brackets": .indexInBrackets][
                item.options["array_encoding"] ?? ""] ?? .brackets,
            boolEncoding: item.options["bool_encoding"] == "literal" ? .literal : .numeric)
        let request = try URLRequest(url: #require(URL(string: url(item))))
        return try encoding.encode(request, with: parameters).url?.query(percentEncoded: true)
    }

    @Test("forms follow the URL standard, except for the characters that Alamofire escapes")
    func formURLEncoded() throws {
        struct Case: CorpusCase {
            let id: String
            let kind: String
            let source: String
            let pairs: [[String]]?
            let input: String?
            let expected: JSONValue
            var group: String { kind }
        }
        let differences = ["percent-query-03": "Foundation's URL escapes a backslash, as RFC 3986 wants"]
        try conform("form-urlencoded", expectedDifferences: differences) { (item: Case) in
            switch (item.kind, item.expected) {
            case ("serialise", .string(let expected)):
                // The standard keeps `*` and escapes `~`; Alamofire keeps the unreserved characters of RFC 3986.
                let encoder = URLEncodedFormEncoder(alphabetizeKeyValuePairs: false, spaceEncoding: .plusReplaced)
                let pairs = Dictionary((item.pairs ?? []).map { ($0[0], $0[1]) }) { first, _ in first }
                guard pairs.count == 1 else { return .notCounted }
                let text: String = try encoder.encode(pairs)
                return .compare(text, expected)
            case ("query-percent-encode", .string(let expected)):
                let url = URL(string: "http://x.test/?" + (item.input ?? ""))
                return .compare(url?.query(percentEncoded: true), expected)
            default:
                // Line ends of HTML forms and parsing are not tasks of a client's encoder.
                return .notCounted
            }
        }
    }
}
