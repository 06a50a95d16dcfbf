/// The value of an `Alt-Svc` field (RFC 7838, 3): the hosts, ports and protocols by which an origin can also be
/// reached.
package enum AltSvcField: Sendable, Equatable {
    /// Invalidates earlier announcements.
    case clear
    /// The alternatives in the server's order of preference.
    case alternatives([Alternative])

    /// One alternative for the origin.
    package struct Alternative: Sendable, Equatable {
        /// The ALPN identifier without escapes: `h3`.
        package var protocolID: [UInt8]
        /// Lower case, IPv6 without brackets; `nil` is the origin's host.
        package var host: String?
        package var port: Int
        /// The lifetime in seconds; a day if the server does not state it.
        package var maxAge: Int64 = 86_400
        /// Whether the alternative stays valid when the network changes.
        package var persists = false
    }

    /// The maximum length of a field. Longer ones are ignored, because no server needs them.
    package static let maximumLength = 8 * 1024
    /// The maximum number of alternatives. Further ones are ignored.
    package static let maximumCount = 16

    /// Parses the value; several fields are joined by commas. `nil` if the syntax is invalid: the field must be ignored
    /// then.
    package init?(_ value: String) {
        guard value.utf8.count <= Self.maximumLength else { return nil }
        var scanner = ByteScanner(value)
        var found: [Alternative] = []
        var clears = false
        repeat {
            scanner.skip(while: ASCII.isBlank)
            let name = scanner.take(while: ASCII.isTokenByte)
            // Empty list elements are ignored (RFC 9110, 5.6.1).
            if name.isEmpty {
                guard scanner.isAtEnd || scanner.peek == UInt8(ascii: ",") else { return nil }
                continue
            }
            guard scanner.skip("=") else {
                guard name.elementsEqual("clear".utf8) else { return nil }
                clears = true
                scanner.skip(while: ASCII.isBlank)
                continue
            }
            guard let authority = Self.quoted(&scanner), let parameters = Self.parameters(&scanner) else { return nil }
            // An invalid authority or identifier affects only its own alternative.
            guard found.count < Self.maximumCount, var alternative = Alternative(name, authority: authority) else {
                continue
            }
            alternative.take(parameters)
            let isKnown = found.contains {
                $0.protocolID == alternative.protocolID && $0.host == alternative.host && $0.port == alternative.port
            }
            if !isKnown { found.append(alternative) }
        } while scanner.skip(UInt8(ascii: ","))
        guard scanner.isAtEnd else { return nil }
        // `clear` invalidates the alternatives beside it as well.
        self = clears ? .clear : .alternatives(found)
    }

    private static func quoted(_ scanner: inout ByteScanner) -> [UInt8]? {
        let (value, isClosed) = scanner.quotedString()
        return isClosed ? value : nil
    }

    private typealias Parameters = [(name: String, value: [UInt8])]

    private static func parameters(_ scanner: inout ByteScanner) -> Parameters? {
        var parameters: Parameters = []
        scanner.skip(while: ASCII.isBlank)
        while scanner.skip(UInt8(ascii: ";")) {
            scanner.skip(while: ASCII.isBlank)
            let name = ASCII.lowercased(String(decoding: scanner.take(while: ASCII.isTokenByte), as: UTF8.self))
            guard !name.isEmpty, scanner.skip("=") else { return nil }
            if scanner.peek == UInt8(ascii: "\"") {
                guard let value = quoted(&scanner) else { return nil }
                parameters.append((name, value))
            } else {
                let value = scanner.take(while: ASCII.isTokenByte)
                guard !value.isEmpty else { return nil }
                parameters.append((name, Array(value)))
            }
            scanner.skip(while: ASCII.isBlank)
        }
        return parameters
    }
}

extension AltSvcField.Alternative {
    fileprivate init?(_ name: ArraySlice<UInt8>, authority: [UInt8]) {
        // Characters that a token cannot contain are escaped (RFC 7838, 3). All other escapes are decoded as well
        // before the identifier is compared.
        guard let identifier = ByteScanner.unescaped(name), let colon = authority.lastIndex(of: UInt8(ascii: ":"))
        else { return nil }
        let digits = authority[(colon + 1)...]
        guard (1...5).contains(digits.count), digits.allSatisfy(ASCII.isDigit), let port = ASCII.number(digits),
            (1...65_535).contains(port)
        else { return nil }
        var host: String?
        if colon > 0 {
            guard let name = Self.host(authority[..<colon]) else { return nil }
            host = name
        }
        self.init(protocolID: identifier, host: host, port: Int(port))
    }

    private static func host(_ bytes: ArraySlice<UInt8>) -> String? {
        guard bytes.count <= 255, bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        if bytes.first == UInt8(ascii: "["), bytes.last == UInt8(ascii: "]") {
            let text = ASCII.lowercased(String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self))
            guard case .v6 = IPAddress(text, allowsZone: false) else { return nil }
            return text
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard !bytes.contains(UInt8(ascii: ":")), !bytes.contains(UInt8(ascii: "%")), Hostname.isUsable(text) else {
            return nil
        }
        return ASCII.lowercased(text)
    }

    /// Applies the parameters. The first of repeated parameters counts; unknown ones are ignored.
    fileprivate mutating func take(_ parameters: [(name: String, value: [UInt8])]) {
        var seen: Set<String> = []
        for (name, value) in parameters where seen.insert(name).inserted {
            let text = String(decoding: value, as: UTF8.self)
            switch name {
            case "ma": maxAge = DeltaSeconds.parse(text) ?? maxAge
            case "persist": persists = text == "1"
            default: break
            }
        }
    }
}
