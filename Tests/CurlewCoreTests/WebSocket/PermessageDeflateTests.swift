internal import CurlewCore
internal import Testing

@Suite("permessage-deflate", .timeLimit(.minutes(4)))
struct PermessageDeflateTests {
    private static func offer(_ change: (inout PermessageDeflate.Offer) -> Void) -> PermessageDeflate.Offer {
        var offer = PermessageDeflate.Offer()
        change(&offer)
        return offer
    }

    private static func agreed(_ change: (inout PermessageDeflate) -> Void = { _ in }) -> PermessageDeflate {
        var agreed = PermessageDeflate()
        change(&agreed)
        return agreed
    }

    @Test(
        "lists of extensions are parsed as in RFC 6455",
        arguments: [
            ("", []), (" , ,", []), ("a", [.init("a")]),
            ("a,b ; c", [.init("a"), .init("b", parameters: [.init("c")])]),
            ("a;b=1 ; c=\"x\"", [.init("a", parameters: [.init("b", "1"), .init("c", "x")])]),
            ("a; B = 1", [.init("a", parameters: [.init("b", "1")])]),
            ("a b", nil), ("a;", nil), ("a;=1", nil), ("a;b=", nil), ("a;b=\"\"", nil), ("a;b=\"x y\"", nil),
            ("a;b=\"x", nil), ("a;b=1=2", nil), ("\"a\"", nil),
        ] as [(String, [WebSocketExtension]?)])
    func elements(value: String, expected: [WebSocketExtension]?) {
        #expect(WebSocketExtension.list(value) == expected)
    }

    @Test("an offer is written with its parameters")
    func offers() {
        #expect(PermessageDeflate.Offer().element.text == "permessage-deflate; client_max_window_bits")
        let full = Self.offer {
            $0.serverNoContextTakeover = true
            $0.clientNoContextTakeover = true
            $0.serverMaxWindowBits = 10
            $0.clientMaxWindowBits = 9
        }
        #expect(
            full.element.text
                == "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
                + "server_max_window_bits=10; client_max_window_bits=9")
        #expect(Self.offer { $0.clientMaxWindowBits = nil }.element.text == "permessage-deflate")
    }

    private static let usual = offer { _ in }

    @Test(
        "a response to an offer is accepted only if RFC 7692 permits it",
        arguments: [
            (usual, "", agreed()),
            (usual, "; server_no_context_takeover", agreed { $0.serverNoContextTakeover = true }),
            (usual, "; client_no_context_takeover", agreed { $0.clientNoContextTakeover = true }),
            (usual, "; server_max_window_bits=8", agreed { $0.serverMaxWindowBits = 8 }),
            (usual, "; client_max_window_bits=8", agreed { $0.clientMaxWindowBits = 8 }),
            (usual, "; client_max_window_bits=\"12\"", agreed { $0.clientMaxWindowBits = 12 }),
            (usual, "; client_max_window_bits", nil), (usual, "; server_max_window_bits", nil),
            (usual, "; server_max_window_bits=7", nil), (usual, "; server_max_window_bits=16", nil),
            (usual, "; server_max_window_bits=08", nil), (usual, "; server_max_window_bits=x", nil),
            (usual, "; server_no_context_takeover=1", nil), (usual, "; x", nil),
            (usual, "; server_no_context_takeover; server_no_context_takeover", nil),
            (offer { $0.clientMaxWindowBits = nil }, "; client_max_window_bits=15", nil),
            (offer { $0.clientMaxWindowBits = 10 }, "; client_max_window_bits=11", nil),
            (offer { $0.clientMaxWindowBits = 10 }, "", agreed { $0.clientMaxWindowBits = 10 }),
            (offer { $0.serverMaxWindowBits = 10 }, "", nil),
            (offer { $0.serverMaxWindowBits = 10 }, "; server_max_window_bits=11", nil),
            (
                offer { $0.serverMaxWindowBits = 10 }, "; server_max_window_bits=9",
                agreed { $0.serverMaxWindowBits = 9 }
            ),
            (offer { $0.serverNoContextTakeover = true }, "", nil),
            (offer { $0.clientNoContextTakeover = true }, "", agreed { $0.clientNoContextTakeover = true }),
        ] as [(PermessageDeflate.Offer, String, PermessageDeflate?)])
    func answers(offer: PermessageDeflate.Offer, parameters: String, expected: PermessageDeflate?) throws {
        let element = try #require(WebSocketExtension.list("permessage-deflate" + parameters)?.first)
        #expect(offer.agreement(with: element) == expected)
    }

    @Test(
        "a server responds to an offer with the parameters that it keeps to, or declines it",
        arguments: [
            ("permessage-deflate", "permessage-deflate"),
            ("permessage-deflate; client_max_window_bits", "permessage-deflate"),
            ("permessage-deflate; client_max_window_bits=9", "permessage-deflate"),
            ("permessage-deflate; server_max_window_bits=9", "permessage-deflate; server_max_window_bits=9"),
            ("permessage-deflate; server_no_context_takeover", "permessage-deflate; server_no_context_takeover"),
            ("permessage-deflate; client_no_context_takeover", "permessage-deflate; client_no_context_takeover"),
            ("permessage-deflate; server_max_window_bits", nil), ("permessage-deflate; server_max_window_bits=16", nil),
            ("permessage-deflate; x", nil), ("x-permessage-deflate", nil),
        ] as [(String, String?)])
    func server(offer: String, answer: String?) throws {
        let element = try #require(WebSocketExtension.list(offer)?.first)
        #expect(PermessageDeflate.accepted(element)?.answer.text == answer)
    }

    @Test("each side compresses with its own window and takeover")
    func sides() {
        let agreed = Self.agreed {
            $0.clientMaxWindowBits = 9
            $0.serverNoContextTakeover = true
        }
        #expect(agreed.sending(as: .client) == (9, true))
        #expect(agreed.sending(as: .server) == (15, false))
    }
}
