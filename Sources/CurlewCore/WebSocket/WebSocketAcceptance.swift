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
