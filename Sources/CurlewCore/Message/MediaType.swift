/// A MIME type with its parameters, parsed and written by the rules of the WHATWG's MIME Sniffing standard.
///
///     let type = MediaType("Text/HTML; charset=utf-8")
///     type?.essence   // "text/html"
///     type?.charset   // "utf-8"
package struct MediaType: Hashable, Sendable {
    /// The type in lower case.
    package let type: String
    /// The subtype in lower case.
    package let subtype: String
    /// The parameters in the order given; every name occurs once.
    package private(set) var parameters: [Parameter]

    /// A parameter `name=value`.
    package struct Parameter: Hashable, Sendable {
        /// The parameter's name in lower case.
        package let name: String
        /// The parameter's value, without quotes.
        package let value: String
    }

    private init(type: String, subtype: String, parameters: [Parameter]) {
        self.type = type
        self.subtype = subtype
        self.parameters = parameters
    }

    /// `type/subtype`, without the parameters.
    package var essence: String { "\(type)/\(subtype)" }

    /// The value of a parameter, whose name is given in lower case; `nil` if there is none.
    package subscript(parameter name: String) -> String? { parameters.first { $0.name == name }?.value }

    package var charset: String? { self[parameter: "charset"] }

    package var boundary: String? { self[parameter: "boundary"] }

    /// Whether this type matches `pattern`, whose type and subtype may be `*`.
    package func matches(_ pattern: MediaType) -> Bool {
        (pattern.type == "*" || pattern.type == type) && (pattern.subtype == "*" || pattern.subtype == subtype)
    }

    private mutating func set(_ name: String, to value: String) {
        let parameter = Parameter(name: name, value: value)
        if let index = parameters.firstIndex(where: { $0.name == name }) {
            parameters[index] = parameter
        } else {
            parameters.append(parameter)
        }
    }
}

extension MediaType {
    /// Parses a MIME type; `nil` if `text` is not one. Invalid parameters are left out.
    package init?(_ text: String) {
        var scanner = ScalarScanner(text)
        scanner.trimWhitespace()
        let type = scanner.take { $0 != "/" }
        guard type.isHTTPToken, scanner.skip("/") else { return nil }
        let subtype = ScalarScanner.trimmingEnd(scanner.take { $0 != ";" })
        guard subtype.isHTTPToken else { return nil }

        var parameters: [Parameter] = []
        // A set, because a header may have tens of thousands of parameters.
        var names: Set<String> = []
        while scanner.skip(";") {
            scanner.skipWhitespace()
            let name = ASCII.lowercased(scanner.take { $0 != ";" && $0 != "=" })
            guard scanner.skip("=") else { continue }
            guard let value = Self.parameterValue(&scanner) else { continue }
            guard name.isHTTPToken, Self.isAllowed(value), names.insert(name).inserted else { continue }
            parameters.append(Parameter(name: name, value: value))
        }
        self.init(type: ASCII.lowercased(type), subtype: ASCII.lowercased(subtype), parameters: parameters)
    }

    private static func parameterValue(_ scanner: inout ScalarScanner) -> String? {
        if scanner.peek == "\"" {
            let value = scanner.quotedString(unescaped: true)
            _ = scanner.take { $0 != ";" }
            return value
        }
        let value = ScalarScanner.trimmingEnd(scanner.take { $0 != ";" })
        return value.isEmpty ? nil : value
    }

    /// Whether a value consists of the HTTP quoted-string token code points of the MIME Sniffing standard.
    private static func isAllowed(_ value: String) -> Bool {
        value.unicodeScalars.allSatisfy { scalar in
            switch scalar.value {
            case 0x09, 0x20...0x7E, 0x80...0xFF: true
            default: false
            }
        }
    }

    /// Returns the media type of a response with these `Content-Type` lines, as the Fetch standard extracts it: the
    /// last valid type counts, and inherits the charset of an equal type before it.
    package static func effective(of lines: [String]) -> MediaType? {
        var result: MediaType?
        var charset: String?
        for part in split(lines.joined(separator: ", ")) {
            guard var type = MediaType(part), type.essence != "*/*" else { continue }
            if type.essence != result?.essence {
                charset = type.charset
            } else if let own = type.charset {
                charset = own
            } else if let charset {
                type.set("charset", to: charset)
            }
            result = type
        }
        return result
    }

    /// Splits at commas outside quoted strings.
    private static func split(_ text: String) -> [String] {
        var scanner = ScalarScanner(text)
        var parts: [String] = []
        var part = ""
        while true {
            part += scanner.take { $0 != "\"" && $0 != "," }
            if scanner.peek == "\"" {
                part += scanner.quotedString(unescaped: false)
                continue
            }
            parts.append(part)
            part = ""
            if !scanner.skip(",") { return parts }
        }
    }
}

extension MediaType: CustomStringConvertible {
    /// The text for a header field.
    package var description: String {
        parameters.reduce(into: essence) { text, parameter in
            text += ";\(parameter.name)="
            text += parameter.value.isHTTPToken ? parameter.value : Self.quoted(parameter.value)
        }
    }

    private static func quoted(_ value: String) -> String {
        var text = "\""
        for scalar in value.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { text.unicodeScalars.append("\\") }
            text.unicodeScalars.append(scalar)
        }
        return text + "\""
    }
}

/// Reads scalars instead of bytes, because the MIME standard allows U+0080 to U+00FF, but nothing above.
private struct ScalarScanner {
    private var rest: Substring.UnicodeScalarView

    init(_ text: String) { rest = text[...].unicodeScalars }

    var peek: Unicode.Scalar? { rest.first }

    mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard rest.first == scalar else { return false }
        rest.removeFirst()
        return true
    }

    mutating func skipWhitespace() {
        while let first = rest.first, Self.isWhitespace(first) { rest.removeFirst() }
    }

    mutating func trimWhitespace() {
        skipWhitespace()
        while let last = rest.last, Self.isWhitespace(last) { rest.removeLast() }
    }

    mutating func take(while condition: (Unicode.Scalar) -> Bool) -> String {
        let end = rest.firstIndex { !condition($0) } ?? rest.endIndex
        defer { rest = rest[end...] }
        return String(rest[..<end])
    }

    mutating func quotedString(unescaped: Bool) -> String {
        var value = String.UnicodeScalarView()
        rest.removeFirst()
        if !unescaped { value.append("\"") }
        while let scalar = rest.popFirst() {
            if scalar == "\"" {
                if !unescaped { value.append(scalar) }
                break
            }
            guard scalar == "\\" else {
                value.append(scalar)
                continue
            }
            if !unescaped || rest.isEmpty { value.append(scalar) }
            if let escaped = rest.popFirst() { value.append(escaped) }
        }
        return String(value)
    }

    static func trimmingEnd(_ text: String) -> String {
        var scalars = text[...].unicodeScalars
        while let last = scalars.last, isWhitespace(last) { scalars.removeLast() }
        return String(scalars)
    }

    private static func isWhitespace(_ scalar: Unicode.Scalar) -> Bool {
        scalar == " " || scalar == "\t" || scalar == "\n" || scalar == "\r"
    }
}
