/// A challenge from a `WWW-Authenticate` or `Proxy-Authenticate` header (RFC 9110, 11.6.1).
public struct AuthenticationChallenge: Hashable, Sendable {
    /// The scheme as sent; compare it without regard to case.
    public let scheme: String
    /// The parameters, with names in lower case and values without quotes.
    public let parameters: [String: String]
    /// The single value of a scheme that has no parameters (`Negotiate`, `NTLM`).
    public let token68: String?

    package init(scheme: String, parameters: [String: String] = [:], token68: String? = nil) {
        self.scheme = scheme
        self.parameters = parameters
        self.token68 = token68
    }

    /// The server's name for the area that the credentials protect.
    public var realm: String? { parameters["realm"] }

    /// Returns the challenges of all fields in order. If a field contains a syntax error, the challenge with the error
    /// and the rest of that field are left out.
    package static func parse(_ lines: [String]) -> [AuthenticationChallenge] {
        lines.flatMap { line in
            var parser = ChallengeParser(line)
            return parser.challenges()
        }
    }
}

private struct ChallengeParser {
    /// A word that ended the previous challenge, and whether a comma was skipped after it. It is the scheme of the next
    /// one.
    private typealias Peeked = (scheme: String, hasCommaAfter: Bool)

    private var scanner: ByteScanner

    init(_ line: String) { scanner = ByteScanner(line) }

    mutating func challenges() -> [AuthenticationChallenge] {
        var found: [AuthenticationChallenge] = []
        var peeked: Peeked?
        while true {
            if peeked == nil {
                _ = skipSeparators()
                peeked = word().map { ($0, false) }
            }
            guard let (scheme, hasCommaAfterScheme) = peeked else { return found }
            peeked = nil

            let hasCommaBefore = skipSeparators() || hasCommaAfterScheme
            guard let first = word() else {
                if scanner.isAtEnd { found.append(AuthenticationChallenge(scheme: scheme)) }
                return found
            }
            let equals = skipEquals()
            let hasCommaAfter = skipSeparators()
            if !hasCommaBefore, hasCommaAfter || scanner.isAtEnd {
                let token = first + String(repeating: "=", count: equals)
                found.append(AuthenticationChallenge(scheme: scheme, token68: token))
                continue
            }
            let start = (first, hasCommaAfter)
            guard let parameters = parameters(startingWith: start, equals: equals + skipEquals(), next: &peeked) else {
                return found
            }
            found.append(AuthenticationChallenge(scheme: scheme, parameters: parameters))
        }
    }

    /// Reads `name=value` pairs. Stores the scheme that ended them in `next`. `nil` after a syntax error.
    private mutating func parameters(
        startingWith first: Peeked,
        equals: Int,
        next: inout Peeked?
    ) -> [String: String]? {
        var parameters: [String: String] = [:]
        var (name, hasCommaAfter) = first
        var equals = equals
        while true {
            if equals == 0 {
                next = (name, hasCommaAfter)
                return parameters
            }
            guard equals == 1, !skipSeparators() else { return nil }
            guard let value = value() else { return nil }
            guard parameters.updateValue(value, forKey: ASCII.lowercased(name)) == nil else { return nil }

            // Some servers omit the comma between two parameters, so it is optional here.
            _ = skipSeparators()
            guard let following = word() else { return scanner.isAtEnd ? parameters : nil }
            name = following
            hasCommaAfter = skipSeparators()
            if hasCommaAfter {
                next = (name, true)
                return parameters
            }
            equals = skipEquals()
        }
    }

    private mutating func value() -> String? {
        scanner.peek == UInt8(ascii: "\"")
            ? String(decoding: scanner.quotedString().value, as: UTF8.self) : word()
    }

    /// Skips blanks and commas. Returns whether there was a comma.
    private mutating func skipSeparators() -> Bool {
        scanner.take { ASCII.isBlank($0) || $0 == UInt8(ascii: ",") }.contains(UInt8(ascii: ","))
    }

    private mutating func skipEquals() -> Int { scanner.take { $0 == UInt8(ascii: "=") }.count }

    /// Reads more than a token: token68 contains slashes, and servers send further characters in unquoted values.
    private mutating func word() -> String? {
        let bytes = scanner.take { byte in
            switch byte {
            case 0x09, 0x20, UInt8(ascii: ","), UInt8(ascii: "="), UInt8(ascii: "\""): false
            default: true
            }
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
