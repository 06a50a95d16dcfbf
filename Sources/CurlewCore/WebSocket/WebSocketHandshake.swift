/// The client's side of the opening handshake (RFC 6455, 4.1): the fields of the request, and the check of the
/// response.
package struct WebSocketHandshake: Equatable, Sendable {
    package let key: WebSocketKey
    package let protocols: [String]
    /// The offer of compression; `nil` for none.
    package let compression: PermessageDeflate.Offer?

    /// The parameters that both sides have agreed on.
    package struct Agreement: Equatable, Sendable {
        package var selectedProtocol: String?
        package var compression: PermessageDeflate?

        package init(selectedProtocol: String? = nil, compression: PermessageDeflate? = nil) {
            self.selectedProtocol = selectedProtocol
            self.compression = compression
        }
    }

    /// The reason why a response does not open a WebSocket.
    package struct Refusal: Error, Equatable {
        package let reason: String
    }

    package init(key: WebSocketKey, protocols: [String] = [], compression: PermessageDeflate.Offer? = .init()) {
        self.key = key
        self.protocols = protocols
        self.compression = compression
    }

    /// Whether the subprotocols are tokens without duplicates.
    package static func areValid(_ protocols: [String]) -> Bool {
        Set(protocols).count == protocols.count
            && protocols.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(ASCII.isTokenByte) }
    }

    /// Returns the subprotocols that a request asks for.
    package static func protocols(in headers: HTTPHeaders) -> [String] {
        FieldTokens.list(headers.combinedValue(for: "Sec-WebSocket-Protocol"))
    }

    /// The fields of the request, except `Host`.
    package var headers: HTTPHeaders {
        var headers = HTTPHeaders()
        headers.append(name: "Upgrade", value: "websocket")
        headers.append(name: "Connection", value: "Upgrade")
        headers.append(name: "Sec-WebSocket-Key", value: key.text)
        headers.append(name: "Sec-WebSocket-Version", value: "13")
        if !protocols.isEmpty {
            headers.append(name: "Sec-WebSocket-Protocol", value: protocols.joined(separator: ", "))
        }
        if let compression {
            headers.append(name: "Sec-WebSocket-Extensions", value: compression.element.text)
        }
        return headers
    }

    /// Checks the response and returns the agreed parameters. Throws if the response does not open a WebSocket.
    package func agreement(with head: ResponseHead) throws(Refusal) -> Agreement {
        guard head.status == 101 else {
            throw Refusal(reason: "the server answered with status \(head.status)")
        }
        guard let upgrade = head.headers.combinedValue(for: "Upgrade"), ASCII.equalsIgnoringCase(upgrade, "websocket")
        else { throw Refusal(reason: "the answer's Upgrade field does not say websocket") }
        guard FieldTokens.contains("upgrade", in: head.headers.combinedValue(for: "Connection")) else {
            throw Refusal(reason: "the answer's Connection field does not say Upgrade")
        }
        guard head.headers.values(for: "Sec-WebSocket-Accept") == [key.answer] else {
            throw Refusal(reason: "the answer's Sec-WebSocket-Accept field does not match the key")
        }
        return try Agreement(
            selectedProtocol: selectedProtocol(in: head.headers), compression: agreedCompression(in: head.headers))
    }

    private func selectedProtocol(in headers: HTTPHeaders) throws(Refusal) -> String? {
        let values = headers.values(for: "Sec-WebSocket-Protocol")
        guard let value = values.first else { return nil }
        guard values.count == 1, protocols.contains(value) else {
            throw Refusal(reason: "the server selected a subprotocol that was not asked for")
        }
        return value
    }

    private func agreedCompression(in headers: HTTPHeaders) throws(Refusal) -> PermessageDeflate? {
        guard let value = headers.combinedValue(for: "Sec-WebSocket-Extensions") else { return nil }
        guard let elements = WebSocketExtension.list(value) else {
            throw Refusal(reason: "the answer's Sec-WebSocket-Extensions field cannot be read")
        }
        guard let element = elements.first else { return nil }
        guard elements.count == 1, let compression, ASCII.equalsIgnoringCase(element.name, PermessageDeflate.name)
        else { throw Refusal(reason: "the server selected an extension that was not offered") }
        guard let agreed = compression.agreement(with: element) else {
            throw Refusal(reason: "the server selected parameters of permessage-deflate that were not offered")
        }
        return agreed
    }
}

/// Parses fields that are lists of tokens, such as `Connection`.
enum FieldTokens {
    static func contains(_ token: String, in value: String?) -> Bool {
        list(value).contains { ASCII.equalsIgnoringCase($0, token) }
    }

    static func list(_ value: String?) -> [String] {
        guard let value else { return [] }
        return value.utf8.split(separator: UInt8(ascii: ",")).compactMap { piece in
            let token = ASCII.trimmingBlanks(ArraySlice(piece))
            return token.isEmpty ? nil : String(decoding: token, as: UTF8.self)
        }
    }
}
