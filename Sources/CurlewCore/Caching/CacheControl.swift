/// The directives of `Cache-Control`, names in lower case. Of repeated ones the first counts (RFC 9111, 4.2.1), but of those
/// that may name fields all do: none hides what another forbids.
package struct CacheControl: Sendable, Hashable {
    /// "" for a directive without a value.
    package private(set) var directives: [String: String] = [:]
    /// Whether a quote is not closed: what follows it may be part of a value, or forbid to store the response.
    package private(set) var isUnreadable = false
    /// The directives that are not written as RFC 9111, 5.2 has them: `public =`, `s-maxage= 60`.
    private var malformed: Set<String> = []

    /// No directives.
    package init() {}

    package init(_ value: String) { parse(value) }

    /// Line by line, so that a quote that one of them does not close hides nothing of the next. `Pragma: no-cache`
    /// counts if there is no `Cache-Control` (RFC 7234, 5.4).
    package init(_ headers: HTTPHeaders) {
        var isThere = false
        for field in headers where ASCII.equalsIgnoringCase(field.name, "Cache-Control") {
            isThere = true
            parse(field.value)
        }
        guard !isThere, let pragma = headers.combinedValue(for: "Pragma") else { return }
        if CacheControl(pragma).has("no-cache") { directives["no-cache"] = "" }
    }

    private mutating func parse(_ value: String) {
        var scanner = ByteScanner(value)
        while !scanner.isAtEnd {
            scanner.skip { ASCII.isBlank($0) || Self.isSeparator($0) }
            let name = ASCII.lowercased(String(decoding: scanner.take(while: ASCII.isTokenByte), as: UTF8.self))
            let isSpaced = !scanner.take(while: ASCII.isBlank).isEmpty
            var argument: [UInt8] = []
            var isMalformed = false
            if scanner.skip("=") {
                isMalformed = !scanner.take(while: ASCII.isBlank).isEmpty || isSpaced
                if scanner.peek == UInt8(ascii: "\"") {
                    let quoted = scanner.quotedString()
                    argument = quoted.value
                    if !quoted.isClosed { isUnreadable = true }
                } else {
                    argument = Array(scanner.take(while: ASCII.isTokenByte))
                    isMalformed = isMalformed || argument.isEmpty
                }
            }
            var rest = Array(ASCII.trimmingBlanks(scanner.take { !Self.isSeparator($0) }))
            if scanner.peek == UInt8(ascii: ";") { rest.append(UInt8(ascii: ";")) }
            // More than an argument is none: `max-age=60 x` is no number, `private="a" x` names no field.
            if !rest.isEmpty { (argument, isMalformed) = ([], true) }
            if isMalformed { malformed.insert(name) }
            if !name.isEmpty { add(name, String(decoding: argument, as: UTF8.self)) }
        }
    }

    /// Servers write `no-cache; no-store` too. Both directives count, and the first one is malformed.
    private static func isSeparator(_ byte: UInt8) -> Bool { byte == UInt8(ascii: ",") || byte == UInt8(ascii: ";") }

    private mutating func add(_ name: String, _ argument: String) {
        guard let first = directives[name] else {
            directives[name] = argument
            return
        }
        guard name == "private" || name == "no-cache", !first.isEmpty else { return }
        // In place: a server may repeat it for as long as a head may be.
        if argument.isEmpty { directives[name] = "" } else { directives[name, default: ""] += "," + argument }
    }

    package var isEmpty: Bool { directives.isEmpty }

    package func has(_ name: String) -> Bool { directives[name] != nil }

    /// Whether a directive is there that may be relied upon: one that is malformed permits nothing.
    package func permits(_ name: String) -> Bool { has(name) && !malformed.contains(name) }

    /// Whether a directive that may name fields concerns the whole response: it names none, or is malformed.
    package func hasUnqualified(_ name: String) -> Bool {
        has(name) && (malformed.contains(name) || fields(of: name).isEmpty)
    }

    /// The fields that a directive names: `no-cache="set-cookie, x"`.
    package func fields(of name: String) -> [String] {
        directives[name]?.split(separator: ",").map { ASCII.lowercased(ASCII.trimmingBlanks(String($0))) }
            .filter { !$0.isEmpty } ?? []
    }

    /// A directive's number of seconds; nil where it is missing or no number.
    package func seconds(_ name: String) -> Int64? { directives[name].flatMap(DeltaSeconds.parse) }

    /// `max-age` in seconds; nil where it is missing or no number.
    package var maxAge: Int64? { seconds("max-age") }
}

extension ASCII {
    static func trimmingBlanks(_ text: String) -> String {
        String(decoding: trimmingBlanks(Array(text.utf8)[...]), as: UTF8.self)
    }
}
