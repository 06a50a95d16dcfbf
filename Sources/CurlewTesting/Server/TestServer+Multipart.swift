public import CurlewCore
public import Foundation

extension TestServer {
    /// One part of a `multipart/form-data` body.
    public struct Part: Sendable {
        /// The part's fields, as sent.
        public var headers: HTTPHeaders
        /// The form field's name; empty if the part has none.
        public var name: String
        /// The file's name; `nil` if the part has none.
        public var filename: String?
        /// The part's bytes.
        public var body: Data
        /// The part's `Content-Type`.
        public var contentType: String? { headers["Content-Type"] }
    }
}

extension TestServer.Request {
    /// The parts of a multipart body; empty if the body is not multipart. Parts without a closing delimiter are left
    /// out.
    public var multipartParts: [TestServer.Part] {
        guard let type = headers["Content-Type"], type.lowercased().hasPrefix("multipart/"),
            let boundary = Self.parameter("boundary", of: type)
        else { return [] }
        let line = Data("\r\n".utf8)
        let delimiter = Data("\r\n--\(boundary)".utf8)
        // A delimiter includes the preceding line end. The first one may be at the start of the body, so a line end is
        // prepended.
        let bytes = line + body
        var parts: [TestServer.Part] = []
        guard var cursor = bytes.range(of: delimiter)?.upperBound else { return [] }
        while let next = bytes.range(of: delimiter, in: cursor..<bytes.endIndex) {
            if let part = Self.part(bytes[cursor..<next.lowerBound], line) { parts.append(part) }
            cursor = next.upperBound
        }
        return parts
    }

    /// Parses the bytes between two delimiters: the rest of the delimiter's line, fields, an empty line, the body.
    private static func part(_ bytes: Data, _ line: Data) -> TestServer.Part? {
        guard let start = bytes.range(of: line)?.upperBound else { return nil }
        let rest = bytes[start...]
        let head: Data
        let body: Data
        if rest.starts(with: line) {
            head = Data()
            body = Data(rest.dropFirst(2))
        } else {
            guard let end = rest.range(of: line + line) else { return nil }
            head = Data(rest[..<end.lowerBound])
            body = Data(rest[end.upperBound...])
        }
        // Splits by bytes: as text, a combining mark would merge with the line end or the colon before it.
        let fields = head.split(separator: 0x0A).compactMap { line in
            line.firstIndex(of: 0x3A).map { colon in
                HTTPHeader(
                    name: String(decoding: line[..<colon], as: UTF8.self),
                    value: String(decoding: line[(colon + 1)...], as: UTF8.self)
                        .trimmingCharacters(in: .whitespacesAndNewlines)
                )
            }
        }
        let headers = HTTPHeaders(received: fields)
        let disposition = headers["Content-Disposition"] ?? ""
        return TestServer.Part(
            headers: headers,
            name: parameter("name", of: disposition) ?? "",
            filename: parameter("filename", of: disposition),
            body: body
        )
    }

    /// Returns a parameter's value, without the escapes that browsers write (`%22`, `%0D%0A`, `\"`); `nil` if it is
    /// missing.
    static func parameter(_ name: String, of field: String) -> String? {
        var rest = Substring(field)
        while let semicolon = rest.firstIndex(of: ";") {
            rest = rest[rest.index(after: semicolon)...].drop { $0 == " " || $0 == "\t" }
            guard let equals = rest.firstIndex(where: { $0 == "=" || $0 == ";" }), rest[equals] == "=" else { continue }
            let found = rest[..<equals].lowercased() == name
            rest = rest[rest.index(after: equals)...]
            let value = takeValue(&rest)
            if found { return value }
        }
        return nil
    }

    private static func takeValue(_ rest: inout Substring) -> String {
        guard rest.first == "\"" else {
            let value = rest.prefix { $0 != ";" }
            rest = rest[value.endIndex...]
            return value.trimmingCharacters(in: .whitespaces)
        }
        rest.removeFirst()
        var value = ""
        while let character = rest.popFirst(), character != "\"" {
            if character == "\\", let next = rest.first, next == "\"" || next == "\\" {
                value.append(next)
                rest.removeFirst()
            } else {
                value.append(character)
            }
        }
        return value.replacing("%22", with: "\"").replacing("%0D%0A", with: "\r\n")
    }
}
