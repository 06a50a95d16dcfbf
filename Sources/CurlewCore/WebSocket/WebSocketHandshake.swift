internal import Foundation

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

/// The server's side of the opening handshake (RFC 6455, 4.2).
package enum WebSocketAcceptance: Equatable, Sendable {
    /// Respond with 101 and these fields.
    case accept(HTTPHeaders, WebSocketHandshake.Agreement)
    /// Respond with this status and these fields.
    case refuse(status: Int, HTTPHeaders, reason: String)

    /// Evaluates a request. `protocols` are the server's subprotocols, best first; `compresses` tells whether it
    /// supports permessage-deflate.
    package init(
        method: String, version: HTTPVersion, headers: HTTPHeaders, protocols: [String] = [], compresses: Bool = true
    ) {
        func refused(_ reason: String, status: Int = 400, _ headers: HTTPHeaders = [:]) -> Self {
            .refuse(status: status, headers, reason: reason)
        }
        guard FieldTokens.contains("websocket", in: headers.combinedValue(for: "Upgrade")),
            FieldTokens.contains("upgrade", in: headers.combinedValue(for: "Connection"))
        else {
            self = refused("the request does not ask for WebSocket", status: 426, ["Upgrade": "websocket"])
            return
        }
        guard method == "GET", version == .http1_1 else {
            self = refused("the request is not a GET of HTTP/1.1")
            return
        }
        guard headers.values(for: "Sec-WebSocket-Version") == ["13"] else {
            self = refused("the version is not 13", status: 426, ["Sec-WebSocket-Version": "13"])
            return
        }
        let keys = headers.values(for: "Sec-WebSocket-Key")
        guard keys.count == 1, let key = WebSocketKey(keys[0]) else {
            self = refused("there is not one key of sixteen bytes")
            return
        }
        var answer: HTTPHeaders = [
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": key.answer,
        ]
        var agreement = WebSocketHandshake.Agreement()
        let asked = FieldTokens.list(headers.combinedValue(for: "Sec-WebSocket-Protocol"))
        if let selected = protocols.first(where: asked.contains) {
            agreement.selectedProtocol = selected
            answer.append(name: "Sec-WebSocket-Protocol", value: selected)
        }
        if compresses, let offers = headers.combinedValue(for: "Sec-WebSocket-Extensions") {
            guard let elements = WebSocketExtension.list(offers) else {
                self = refused("the extensions cannot be read")
                return
            }
            // The first acceptable offer wins.
            if let accepted = elements.lazy.compactMap(PermessageDeflate.accepted).first {
                agreement.compression = accepted.agreed
                answer.append(name: "Sec-WebSocket-Extensions", value: accepted.answer.text)
            }
        }
        self = .accept(answer, agreement)
    }
}

/// The key of a handshake, and the server's answer to it (RFC 6455, 1.3).
package struct WebSocketKey: Hashable, Sendable {
    /// Sixteen bytes in Base64, as in the field.
    package let text: String

    /// Creates a key from sixteen bytes of `random`.
    package init(using random: inout some RandomNumberGenerator) {
        var bytes = Data()
        for _ in 0..<2 { withUnsafeBytes(of: random.next() as UInt64) { bytes.append(contentsOf: $0) } }
        text = bytes.base64EncodedString()
    }

    /// Reads the value of a field; `nil` if it is not a key.
    package init?(_ text: String) {
        guard text.utf8.count == 24, Data(base64Encoded: text)?.count == 16 else { return nil }
        self.text = text
    }

    /// The value of `Sec-WebSocket-Accept` that proves that the server has understood the handshake.
    package var answer: String {
        Data(SHA1.digest(Array((text + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))).base64EncodedString()
    }
}

/// SHA-1 (RFC 3174), used only for the response to a WebSocket key, which is not meant to resist attackers.
enum SHA1 {
    static func digest(_ message: [UInt8]) -> [UInt8] {
        var padded = message
        padded.append(0x80)
        while padded.count % 64 != 56 { padded.append(0) }
        let bits = UInt64(message.count) * 8
        for index in (0..<8).reversed() { padded.append(UInt8(truncatingIfNeeded: bits >> UInt64(index * 8))) }

        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        for start in stride(from: 0, to: padded.count, by: 64) { mix(padded[start..<start + 64], into: &state) }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(24 - 8 * $0)) } }
    }

    private static func mix(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
        var words = [UInt32](repeating: 0, count: 80)
        for (index, byte) in block.enumerated() { words[index / 4] = words[index / 4] << 8 | UInt32(byte) }
        for index in 16..<80 {
            words[index] = rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], by: 1)
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for (index, word) in words.enumerated() {
            let (mixed, constant): (UInt32, UInt32) =
                switch index {
                case ..<20: ((b & c) | (~b & d), 0x5A82_7999)
                case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case ..<60: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next = rotated(a, by: 5) &+ mixed &+ e &+ word &+ constant
            (a, b, c, d, e) = (next, a, rotated(b, by: 30), c, d)
        }
        for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
    }

    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
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
