/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` header (RFC 9110, 11.6.1).
public struct AuthenticationChallenge: Hashable, Sendable {
    /// As sent; compare it without regard to case.
    public let scheme: String
    /// Names in lower case, values without quotes.
    public let parameters: [String: String]
    /// The single value of schemes that have no parameters (`Negotiate`, `NTLM`).
    public let token68: String?

    /// Creates a challenge.
    public init(scheme: String, parameters: [String: String] = [:], token68: String? = nil) {
        self.scheme = scheme
        self.parameters = parameters
        self.token68 = token68
    }

    /// What the credentials are for, as the server names it.
    public var realm: String? { parameters["realm"] }

    /// The challenges of all such fields of a response, in order. What follows a syntax error in a field is
    /// not used, nor is the challenge with the error.
    public static func parse(_ lines: [String]) -> [AuthenticationChallenge] {
        lines.flatMap { line in
            var parser = ChallengeParser(line)
            return parser.challenges()
        }
    }
}

private struct ChallengeParser {
    /// A scheme that was read as the end of the challenge before, and whether the comma behind it was skipped.
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

    /// Reads `name=value` pairs as far as they go; `next` gets the scheme that ended them. nil is an error.
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

            // A missing comma between two parameters is forgiven: servers forget it.
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

    /// Whether a comma was among what was skipped.
    private mutating func skipSeparators() -> Bool {
        scanner.take { ASCII.isBlank($0) || $0 == UInt8(ascii: ",") }.contains(UInt8(ascii: ","))
    }

    private mutating func skipEquals() -> Int { scanner.take { $0 == UInt8(ascii: "=") }.count }

    /// Wider than a token, as token68 has slashes and the values of real servers have more.
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
