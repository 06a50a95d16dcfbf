internal import COpenSSL

/// The server's side of ALPN: selects one of the protocols that a client offers (RFC 7301).
enum ProtocolChoice {
    /// Makes connections of this context negotiate a protocol. Without HTTP/2, ALPN stays off.
    static func offer(_ protocols: [TestServer.ApplicationProtocol], in context: OpaquePointer) {
        let preference: Preference
        switch (protocols.contains(.http1), protocols.contains(.http2)) {
        case (true, true): preference = protocols.first == .http2 ? .http2First : .http1First
        case (false, true): preference = .http2Only
        case (_, false): return
        }
        // The preference itself is passed in place of a pointer, so no object has to outlive the context.
        SSL_CTX_set_alpn_select_cb(
            context,
            { _, chosen, chosenCount, offered, count, preference in
                let preference = Preference(rawValue: Int(bitPattern: preference)) ?? .http1First
                let list = UnsafeBufferPointer(start: offered, count: Int(count))
                guard let range = ProtocolChoice.choose(from: list, preference) else {
                    // Without a common protocol the handshake fails (RFC 7301, 3.2).
                    return SSL_TLSEXT_ERR_ALERT_FATAL
                }
                chosen?.pointee = list.baseAddress.map { $0 + range.lowerBound }
                chosenCount?.pointee = UInt8(clamping: range.count)
                return SSL_TLSEXT_ERR_OK
            },
            UnsafeMutableRawPointer(bitPattern: preference.rawValue)
        )
    }

    enum Preference: Int {
        case http1First = 1
        case http2First
        case http2Only

        fileprivate var protocols: [TestServer.ApplicationProtocol] {
            switch self {
            case .http1First: [.http1, .http2]
            case .http2First: [.http2, .http1]
            case .http2Only: [.http2]
            }
        }
    }

    /// Returns the range of the most preferred name in the client's list, in which a length precedes each name.
    static func choose(from list: some Collection<UInt8>, _ preference: Preference) -> Range<Int>? {
        let list = Array(list)
        var names: [Range<Int>] = []
        var start = 0
        while start < list.count {
            let end = start + 1 + Int(list[start])
            guard end <= list.count else { return nil }
            names.append(start + 1..<end)
            start = end
        }
        for wanted in preference.protocols {
            if let found = names.first(where: { list[$0].elementsEqual(wanted.rawValue.utf8) }) { return found }
        }
        return nil
    }
}
