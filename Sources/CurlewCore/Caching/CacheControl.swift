/// The directives of `Cache-Control`; names are in lower case. If a directive is repeated, the first one counts
/// (RFC 9111, 4.2.1). `private` and `no-cache` may name fields, so all their occurrences are merged: none may hide what
/// another forbids.
package struct CacheControl: Sendable, Hashable {
    /// The arguments by directive name; empty for a directive without an argument.
    package private(set) var directives: [String: String] = [:]
    /// Whether a quoted string is not closed. The rest of the line may then be part of a value, or a directive that
    /// forbids storing.
    package private(set) var isUnreadable = false
    /// The directives that violate the syntax of RFC 9111, 5.2: `public =`, `s-maxage= 60`.
    private var malformed: Set<String> = []

    package init() {}

    package init(_ value: String) { parse(value) }

    /// Parses each field line separately, so that an unclosed quote in one line cannot hide the next.
    /// `Pragma: no-cache` counts if there is no `Cache-Control` (RFC 7234, 5.4).
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
            // Text after the argument voids it: `max-age=60 x` is no number, `private="a" x` names no field.
            if !rest.isEmpty { (argument, isMalformed) = ([], true) }
            if isMalformed { malformed.insert(name) }
            if !name.isEmpty { add(name, String(decoding: argument, as: UTF8.self)) }
        }
    }

    /// Servers also write `no-cache; no-store`. Both directives count, and the first one is malformed.
    private static func isSeparator(_ byte: UInt8) -> Bool { byte == UInt8(ascii: ",") || byte == UInt8(ascii: ";") }

    private mutating func add(_ name: String, _ argument: String) {
        guard let first = directives[name] else {
            directives[name] = argument
            return
        }
        guard name == "private" || name == "no-cache", !first.isEmpty else { return }
        // Appended in place: a head full of repeated directives must not cost quadratic time.
        if argument.isEmpty { directives[name] = "" } else { directives[name, default: ""] += "," + argument }
    }

    package var isEmpty: Bool { directives.isEmpty }

    package func has(_ name: String) -> Bool { directives[name] != nil }

    /// Whether a directive is present and well-formed. A malformed directive grants nothing.
    package func permits(_ name: String) -> Bool { has(name) && !malformed.contains(name) }

    /// Whether a directive that may name fields applies to the whole response: it names no fields or is malformed.
    package func hasUnqualified(_ name: String) -> Bool {
        has(name) && (malformed.contains(name) || fields(of: name).isEmpty)
    }

    /// The fields that a directive names, in lower case: `no-cache="set-cookie, x"`.
    package func fields(of name: String) -> [String] {
        directives[name]?.split(separator: ",").map { ASCII.lowercased(ASCII.trimmingBlanks(String($0))) }
            .filter { !$0.isEmpty } ?? []
    }

    /// A directive's argument in seconds; `nil` if it is missing or not a number.
    package func seconds(_ name: String) -> Int64? { directives[name].flatMap(DeltaSeconds.parse) }

    /// `max-age` in seconds; `nil` if it is missing or not a number.
    package var maxAge: Int64? { seconds("max-age") }
}
