/// An element of `Sec-WebSocket-Extensions` (RFC 6455, 9.1).
package struct WebSocketExtension: Equatable, Sendable {
    package struct Parameter: Equatable, Sendable {
        package var name: String
        package var value: String?

        package init(_ name: String, _ value: String? = nil) {
            self.name = name
            self.value = value
        }
    }

    package var name: String
    package var parameters: [Parameter]

    package init(_ name: String, parameters: [Parameter] = []) {
        self.name = name
        self.parameters = parameters
    }

    package var text: String {
        parameters.reduce(name) { text, parameter in
            text + "; " + parameter.name + (parameter.value.map { "=" + $0 } ?? "")
        }
    }

    /// Parses the values of all `Sec-WebSocket-Extensions` fields, joined by commas; `nil` if the syntax is invalid.
    package static func list(_ value: String) -> [Self]? {
        var scanner = ByteScanner(value)
        var found: [Self] = []
        repeat {
            scanner.skip(while: ASCII.isBlank)
            let name = scanner.take(while: ASCII.isTokenByte)
            if name.isEmpty {
                guard scanner.isAtEnd || scanner.peek == UInt8(ascii: ",") else { return nil }
                continue
            }
            guard let parameters = parameters(&scanner) else { return nil }
            found.append(Self(String(decoding: name, as: UTF8.self), parameters: parameters))
        } while scanner.skip(UInt8(ascii: ","))
        return scanner.isAtEnd ? found : nil
    }

    private static func parameters(_ scanner: inout ByteScanner) -> [Parameter]? {
        var found: [Parameter] = []
        scanner.skip(while: ASCII.isBlank)
        while scanner.skip(UInt8(ascii: ";")) {
            scanner.skip(while: ASCII.isBlank)
            let name = scanner.take(while: ASCII.isTokenByte)
            guard !name.isEmpty else { return nil }
            scanner.skip(while: ASCII.isBlank)
            var parameter = Parameter(ASCII.lowercased(String(decoding: name, as: UTF8.self)))
            if scanner.skip(UInt8(ascii: "=")) {
                scanner.skip(while: ASCII.isBlank)
                guard let value = value(&scanner) else { return nil }
                parameter.value = value
                scanner.skip(while: ASCII.isBlank)
            }
            found.append(parameter)
        }
        return found
    }

    /// Reads a token, or a quoted string that contains a token.
    private static func value(_ scanner: inout ByteScanner) -> String? {
        var bytes: [UInt8]
        if scanner.peek == UInt8(ascii: "\"") {
            let quoted = scanner.quotedString()
            guard quoted.isClosed else { return nil }
            bytes = quoted.value
        } else {
            bytes = Array(scanner.take(while: ASCII.isTokenByte))
        }
        guard !bytes.isEmpty, bytes.allSatisfy(ASCII.isTokenByte) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
