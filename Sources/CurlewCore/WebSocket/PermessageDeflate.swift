/// The agreed parameters of permessage-deflate (RFC 7692, 7.1).
package struct PermessageDeflate: Equatable, Sendable {
    /// Whether the server compresses each message with an empty window.
    package var serverNoContextTakeover = false
    /// Whether the client compresses each message with an empty window.
    package var clientNoContextTakeover = false
    /// The base-2 logarithm of the server's largest window in bytes.
    package var serverMaxWindowBits = 15
    /// The base-2 logarithm of the client's largest window in bytes.
    package var clientMaxWindowBits = 15

    package init() {}

    package static let name = "permessage-deflate"
    private static let windowBits = 8...15

    /// Returns the parameters with which a side compresses.
    package func sending(as role: WebSocketRole) -> (windowBits: Int, keepsContext: Bool) {
        switch role {
        case .client: (clientMaxWindowBits, !clientNoContextTakeover)
        case .server: (serverMaxWindowBits, !serverNoContextTakeover)
        }
    }

    // MARK: Client

    /// A client's offer.
    package struct Offer: Equatable, Sendable {
        package var serverNoContextTakeover = false
        package var clientNoContextTakeover = false
        /// The limit for the server's window; `nil` lets the server choose.
        package var serverMaxWindowBits: Int?
        /// The limit for the client's window; `nil` if the server may not set one. 15 is written as the name without a
        /// value.
        package var clientMaxWindowBits: Int? = 15

        package init() {}

        package var element: WebSocketExtension {
            var parameters: [WebSocketExtension.Parameter] = []
            if serverNoContextTakeover { parameters.append(.init("server_no_context_takeover")) }
            if clientNoContextTakeover { parameters.append(.init("client_no_context_takeover")) }
            if let serverMaxWindowBits {
                parameters.append(.init("server_max_window_bits", String(serverMaxWindowBits)))
            }
            if let clientMaxWindowBits {
                parameters.append(
                    .init("client_max_window_bits", clientMaxWindowBits == 15 ? nil : String(clientMaxWindowBits)))
            }
            return WebSocketExtension(name, parameters: parameters)
        }

        /// Returns the parameters on which the server's answer agrees; `nil` if the answer does not fit this offer.
        package func agreement(with answer: WebSocketExtension) -> PermessageDeflate? {
            guard let given = Given(answer.parameters, isOffer: false) else { return nil }
            if serverNoContextTakeover, !given.serverNoContextTakeover { return nil }
            if let limit = serverMaxWindowBits {
                guard let bits = given.serverMaxWindowBits, bits <= limit else { return nil }
            }
            var agreed = PermessageDeflate()
            agreed.serverNoContextTakeover = given.serverNoContextTakeover
            agreed.clientNoContextTakeover = clientNoContextTakeover || given.clientNoContextTakeover
            agreed.serverMaxWindowBits = given.serverMaxWindowBits ?? 15
            if let bits = given.clientMaxWindowBits {
                guard let limit = clientMaxWindowBits, bits <= limit else { return nil }
                agreed.clientMaxWindowBits = bits
            } else if let limit = clientMaxWindowBits {
                agreed.clientMaxWindowBits = limit
            }
            return agreed
        }
    }

    // MARK: Server

    /// Returns the parameters that a server accepts, and the element for its response; `nil` if it declines the offer.
    package static func accepted(_ offer: WebSocketExtension) -> (agreed: Self, answer: WebSocketExtension)? {
        guard ASCII.equalsIgnoringCase(offer.name, name), let given = Given(offer.parameters, isOffer: true) else {
            return nil
        }
        var agreed = Self()
        var answer = WebSocketExtension(name)
        if given.serverNoContextTakeover {
            agreed.serverNoContextTakeover = true
            answer.parameters.append(.init("server_no_context_takeover"))
        }
        if given.clientNoContextTakeover {
            agreed.clientNoContextTakeover = true
            answer.parameters.append(.init("client_no_context_takeover"))
        }
        if let bits = given.serverMaxWindowBits {
            agreed.serverMaxWindowBits = bits
            answer.parameters.append(.init("server_max_window_bits", String(bits)))
        }
        // A hint (RFC 7692, 7.1.2.2): the client keeps to its own limit without a confirmation.
        if let bits = given.clientMaxWindowBits { agreed.clientMaxWindowBits = bits }
        return (agreed, answer)
    }

    /// The parameters as written. `nil` if one is unknown, repeated, or has an invalid value.
    private struct Given {
        var serverNoContextTakeover = false
        var clientNoContextTakeover = false
        var serverMaxWindowBits: Int?
        var clientMaxWindowBits: Int?

        init?(_ parameters: [WebSocketExtension.Parameter], isOffer: Bool) {
            var seen: Set<String> = []
            for parameter in parameters {
                guard seen.insert(parameter.name).inserted else { return nil }
                switch parameter.name {
                case "server_no_context_takeover":
                    guard parameter.value == nil else { return nil }
                    serverNoContextTakeover = true
                case "client_no_context_takeover":
                    guard parameter.value == nil else { return nil }
                    clientNoContextTakeover = true
                case "server_max_window_bits":
                    guard let bits = Self.bits(parameter.value) else { return nil }
                    serverMaxWindowBits = bits
                case "client_max_window_bits":
                    if isOffer, parameter.value == nil {
                        clientMaxWindowBits = 15
                    } else {
                        guard let bits = Self.bits(parameter.value) else { return nil }
                        clientMaxWindowBits = bits
                    }
                default: return nil
                }
            }
        }

        /// Reads a decimal number without leading zeros (RFC 7692, 7.1.2).
        private static func bits(_ value: String?) -> Int? {
            windowBits.first { String($0) == value }
        }
    }
}

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

/// The compressor of permessage-deflate, implemented outside of the core, which has no compression library.
package protocol WebSocketCompressor: AnyObject, Sendable {
    /// Appends a whole message, compressed, without the four bytes that end every flush (RFC 7692, 7.2.1).
    ///
    /// Returns `false` if the message could not be compressed. It is then sent uncompressed.
    func compress(_ message: UnsafeRawBufferPointer, into output: inout [UInt8]) -> Bool
}

/// The decompressor of permessage-deflate.
package protocol WebSocketDecompressor: AnyObject, Sendable {
    /// Appends the decompressed `bytes`. Throws `.messageTooBig` before `output` exceeds `limit` bytes.
    func decompress(_ bytes: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int) throws(WebSocketViolation)

    /// Ends a message. The decompressor supplies the four bytes that the sender has omitted.
    func finishMessage(into output: inout [UInt8], limit: Int) throws(WebSocketViolation)
}
