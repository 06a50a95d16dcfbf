/// The parameters of permessage-deflate (RFC 7692, 7.1): what two sides have agreed on.
package struct PermessageDeflate: Equatable, Sendable {
    /// The compressing side begins every message with an empty window.
    package var serverNoContextTakeover = false
    package var clientNoContextTakeover = false
    /// The window of the compressing side is two to this many bytes at most.
    package var serverMaxWindowBits = 15
    package var clientMaxWindowBits = 15

    package init() {}

    package static let name = "permessage-deflate"
    static let windowBits = 8...15

    /// What a side compresses with.
    package func sending(as role: WebSocketRole) -> (windowBits: Int, keepsContext: Bool) {
        switch role {
        case .client: (clientMaxWindowBits, !clientNoContextTakeover)
        case .server: (serverMaxWindowBits, !serverNoContextTakeover)
        }
    }

    // MARK: Client

    /// What a client asks for.
    package struct Offer: Equatable, Sendable {
        package var serverNoContextTakeover = false
        package var clientNoContextTakeover = false
        /// nil leaves it to the server.
        package var serverMaxWindowBits: Int?
        /// Whether the server may limit the client's window. 15 is said as the name alone.
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

        /// What the server's answer to this offer means; nil where it is no answer to it.
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

    /// What a server makes of an offer, and the element that it answers with; nil where it declines.
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
        // A hint: the client keeps to it without an answer.
        if let bits = given.clientMaxWindowBits { agreed.clientMaxWindowBits = bits }
        return (agreed, answer)
    }

    /// The parameters as they were written; nil where one is unknown, repeated, or has a value that it cannot have.
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

        /// A decimal number without leading zeros (RFC 7692, 7.1.2).
        private static func bits(_ value: String?) -> Int? {
            windowBits.first { String($0) == value }
        }
    }
}
