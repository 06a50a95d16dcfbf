/// The value of an `Alt-Svc` field (RFC 7838, 3): where else a server's origin can be reached, and by which protocol.
package enum AltSvcField: Sendable, Equatable {
    /// What was announced before holds no longer.
    case clear
    /// In the server's order of preference.
    case alternatives([Alternative])

    /// One way to reach the origin.
    package struct Alternative: Sendable, Equatable {
        /// The ALPN identifier, escapes undone: `h3`.
        package var protocolID: [UInt8]
        /// Lower case, IPv6 without brackets; nil is the origin's own.
        package var host: String?
        package var port: Int
        /// Seconds; a day where nothing is said.
        package var maxAge: Int64 = 86_400
        /// Holds in other networks, too.
        package var persists = false
    }

    /// What is longer is not looked at: a server has no reason for it.
    package static let maximumLength = 8 * 1024
    /// Those behind are left out.
    package static let maximumCount = 16

    /// Several fields are one, joined by commas. nil where the grammar is broken: the field is to be ignored then.
    package init?(_ value: String) {
        guard value.utf8.count <= Self.maximumLength else { return nil }
        var scanner = ByteScanner(value)
        var found: [Alternative] = []
        var clears = false
        repeat {
            scanner.skip(while: ASCII.isBlank)
            let name = scanner.take(while: ASCII.isTokenByte)
            // RFC 9110, 5.6.1: empty elements of a list do not count.
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
            // What is no authority or no identifier spoils its own alternative alone.
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
        // Also beside alternatives: they are invalid then.
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
        // RFC 7838, 3: what a token cannot have is escaped. Other escapes are compared as they are meant, too.
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
            guard case .v6 = IPAddress(text), !text.contains("%") else { return nil }
            return text
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard !bytes.contains(UInt8(ascii: ":")), !bytes.contains(UInt8(ascii: "%")), Hostname.isUsable(text) else {
            return nil
        }
        return ASCII.lowercased(text)
    }

    /// Of repeated ones the first counts, unknown ones do not.
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
