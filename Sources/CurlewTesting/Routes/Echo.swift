internal import CurlewCore
internal import Foundation

extension StandardRoutes {
    /// The request as JSON in httpbin's format.
    static let echo: [Entry] =
        [
            Entry("/get") { .json(.echo($0)) },
            Entry("/post", ["POST"]) { .json(.echo($0)) },
            Entry("/put", ["PUT"]) { .json(.echo($0)) },
            Entry("/patch", ["PATCH"]) { .json(.echo($0)) },
            Entry("/delete", ["DELETE"]) { .json(.echo($0)) },
            Entry("/head", ["HEAD", "GET"]) { .json(.echo($0)) },
            Entry("/options", ["OPTIONS"]) { .json(.echo($0)) },
            Entry("/trace", ["TRACE"]) { .json(.echo($0)) },
            Entry("/anything", nil) { .json(.echo($0)) },
            Entry("/anything/*", nil) { .json(.echo($0)) },
            Entry("/headers", nil) { .json(.object([("headers", .headers($0))])) },
            Entry("/ip", nil) { _ in .json(.object([("origin", "127.0.0.1")])) },
            Entry("/user-agent", nil) {
                .json(.object([("user-agent", $0.headers["User-Agent"].map(JSONValue.string) ?? .null)]))
            },
            Entry("/upload", ["POST", "PUT", "PATCH"]) { request in
                .json(
                    .object([
                        ("bytes", .number(String(request.bodyByteCount))),
                        ("sha256", .string(request.bodySHA256)),
                    ])
                )
            },
        ]
}

extension JSONValue {
    static func headers(_ request: TestServer.Request) -> JSONValue {
        // An object cannot have a name twice, so repeated fields are joined (RFC 9110, 5.3).
        var names: [String] = []
        for field in request.headers
        where !names.contains(where: { ASCII.equalsIgnoringCase($0, field.name) }) {
            names.append(field.name)
        }
        return .object(names.map { ($0, .string(request.headers.combinedValue(for: $0) ?? "")) })
    }

    static func echo(_ request: TestServer.Request) -> JSONValue {
        var form: [(String, String)] = []
        var files: [(String, String)] = []
        var data = ""
        var json = JSONValue.null
        let type = request.headers["Content-Type"] ?? ""
        let essence = type.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        switch essence {
        case "application/x-www-form-urlencoded":
            form = TestServer.FormField.parse(text(request.body)).map { ($0.name, $0.value) }
        case "multipart/form-data":
            for part in request.multipartParts {
                if part.filename == nil {
                    form.append((part.name, text(part.body)))
                } else {
                    files.append((part.name, shown(part.body, type: part.contentType)))
                }
            }
        default:
            data = shown(request.body, type: type)
            json = parsed(request.body)
        }
        return .object([
            ("args", merged(request.query.map { ($0.name, $0.value) })),
            ("data", .string(data)),
            ("files", merged(files)),
            ("form", merged(form)),
            ("headers", headers(request)),
            ("json", json),
            ("method", .string(request.method)),
            ("origin", "127.0.0.1"),
            ("url", .string(request.url)),
        ])
    }

    /// Returns text unchanged, other bytes as a data URL.
    private static func shown(_ data: Data, type: String?) -> String {
        if let text = String(data: data, encoding: .utf8) { return text }
        let type = type.flatMap { $0.isEmpty ? nil : $0 } ?? "application/octet-stream"
        return "data:\(type);base64,\(data.base64EncodedString())"
    }

    private static func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }

    private static func parsed(_ data: Data) -> JSONValue {
        guard !data.isEmpty, let value = try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed),
            let out = try? JSONSerialization.data(withJSONObject: value, options: [.fragmentsAllowed, .sortedKeys])
        else { return .null }
        // `number` emits its text verbatim, and the text is JSON already.
        return .number(text(out))
    }
}

/// A JSON value whose objects keep the order of their members.
indirect enum JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([(String, JSONValue)])

    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int) { self = .number(String(value)) }

    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let digits): digits
        case .string(let value): Self.quoted(value)
        case .array(let values): "[" + values.map(\.text).joined(separator: ", ") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0) + ": " + $1.text }.joined(separator: ", ") + "}"
        }
    }

    /// Returns an object with the pairs' names as members; a repeated name gets an array of its values.
    static func merged(_ pairs: [(String, String)]) -> JSONValue {
        var order: [String] = []
        var values: [String: [String]] = [:]
        for (name, value) in pairs {
            if values[name] == nil { order.append(name) }
            values[name, default: []].append(value)
        }
        return .object(
            order.map { name in
                let all = values[name, default: []].map { JSONValue.string($0) }
                return (name, all.count == 1 ? all[0] : .array(all))
            }
        )
    }

    private static func quoted(_ text: String) -> String {
        var out = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\r": out += "\\r"
            case "\t": out += "\\t"
            case "\0"..<" ":
                let digits = String(scalar.value, radix: 16)
                out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}

extension TestServer.Response {
    static func json(_ value: JSONValue, status: Int = 200) -> Self {
        .text(value.text + "\n", status: status, type: "application/json")
    }
}

extension JSONValue {
    func adding(_ more: [(String, JSONValue)]) -> JSONValue {
        if case .object(let members) = self { .object(members + more) } else { self }
    }
}
