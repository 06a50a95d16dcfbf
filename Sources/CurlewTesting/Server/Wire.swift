internal import COpenSSL
internal import CurlewCore
internal import Foundation
internal import Glibc

/// The byte transport of a connection: a plain socket or TLS. Used only on the server's thread.
protocol Wire: AnyObject {
    /// Reads available bytes into the buffer.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> WireTurn
    /// Sends as many bytes as the socket accepts.
    func send(_ bytes: UnsafeRawBufferPointer) -> WireTurn
    /// Ends the server's direction.
    func endSending()
    /// Whether ALPN has chosen HTTP/2.
    var hasAgreedOnHTTP2: Bool { get }
}

/// The result of one call.
enum WireTurn {
    /// This number of bytes was transferred, at least one.
    case moved(Int)
    /// No byte was transferred; the socket must become readable or writable first.
    case needs(Connection.Need)
    /// The peer has ended its direction, or the connection is broken.
    case ended
}

/// A socket without TLS.
final class PlainWire: Wire {
    private let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> WireTurn {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .moved(count) }
            if count == 0 { return .ended }
            if errno != EINTR { return errno == EAGAIN ? .needs(.readable) : .ended }
        }
    }

    func send(_ bytes: UnsafeRawBufferPointer) -> WireTurn {
        while true {
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return .moved(count) }
            if errno != EINTR { return errno == EAGAIN ? .needs(.writable) : .ended }
        }
    }

    func endSending() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    var hasAgreedOnHTTP2: Bool { false }
}

/// The state that a server's TLS connections share. Used only on the server's thread.
final class TLSContext {
    fileprivate let context: OpaquePointer
    /// The socket BIO. OpenSSL's built-in one writes without `MSG_NOSIGNAL`, so a peer that left would kill the
    /// process.
    fileprivate let sockets: OpaquePointer

    init(
        _ identity: ServerIdentity, _ tls: TestServer.TLS, _ protocols: [TestServer.ApplicationProtocol]
    ) throws(TestServer.TLSFailure) {
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw .openSSL("make a TLS context") }
        guard let sockets = Self.makeSockets() else {
            SSL_CTX_free(context)
            throw .openSSL("make a kind of socket")
        }
        self.context = context
        self.sockets = sockets
        // A repeated write may use another address and a shorter length.
        let modes = Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER)
        SSL_CTX_ctrl(context, SSL_CTRL_MODE, modes, nil)
        guard tls.minimumVersion <= tls.maximumVersion,
            SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Self.number(tls.minimumVersion), nil) == 1,
            SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Self.number(tls.maximumVersion), nil) == 1
        else { throw .openSSL("limit TLS to \(tls.minimumVersion)...\(tls.maximumVersion)") }
        ProtocolChoice.offer(protocols, in: context)
        try Self.read(identity.certificate) { memory in
            guard let certificate = PEM_read_bio_X509(memory, nil, nil, nil) else { return false }
            defer { X509_free(certificate) }
            return SSL_CTX_use_certificate(context, certificate) == 1
        }
        try Self.read(identity.key) { memory in
            guard let key = PEM_read_bio_PrivateKey(memory, nil, nil, nil) else { return false }
            defer { EVP_PKEY_free(key) }
            return SSL_CTX_use_PrivateKey(context, key) == 1
        }
    }

    deinit {
        SSL_CTX_free(context)
        BIO_meth_free(sockets)
    }

    private static func read(_ pem: Data, _ use: (OpaquePointer) -> Bool) throws(TestServer.TLSFailure) {
        guard let memory = BIO_new(BIO_s_mem()) else { throw .openSSL("take memory") }
        defer { BIO_free(memory) }
        let count = Int32(pem.count)
        guard pem.withUnsafeBytes({ BIO_write(memory, $0.baseAddress, count) }) == count, use(memory) else {
            throw .openSSL("read its own PEM")
        }
    }

    private static func number(_ version: TLSVersion) -> Int {
        switch version {
        case .v1_0: Int(TLS1_VERSION)
        case .v1_1: Int(TLS1_1_VERSION)
        case .v1_2: Int(TLS1_2_VERSION)
        case .v1_3: Int(TLS1_3_VERSION)
        }
    }
}

extension TLSContext {
    private static func makeSockets() -> OpaquePointer? {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "curlew socket") else { return nil }
        BIO_meth_set_write(method) { bio, bytes, count in
            BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
            let sent = Glibc.send(TLSContext.descriptor(bio), bytes, Int(count), Int32(MSG_NOSIGNAL))
            if sent < 0, errno == EAGAIN || errno == EINTR {
                BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
            }
            return Int32(sent)
        }
        BIO_meth_set_read(method) { bio, bytes, count in
            BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
            let received = recv(TLSContext.descriptor(bio), bytes, Int(count), 0)
            if received < 0, errno == EAGAIN || errno == EINTR {
                BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
            }
            return Int32(received)
        }
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        return method
    }

    private static func descriptor(_ bio: OpaquePointer?) -> Int32 { Int32(Int(bitPattern: BIO_get_data(bio))) }
}

/// The server's side of a TLS socket. The first read or write performs the handshake.
final class TLSWire: Wire {
    private let descriptor: Int32
    private let shared: TLSContext
    private let connection: OpaquePointer

    /// `nil` if OpenSSL is out of memory.
    init?(_ descriptor: Int32, _ shared: TLSContext) {
        guard let connection = SSL_new(shared.context), let bio = BIO_new(shared.sockets) else { return nil }
        BIO_set_data(bio, UnsafeMutableRawPointer(bitPattern: Int(descriptor)))
        BIO_set_init(bio, 1)
        SSL_set_bio(connection, bio, bio)
        SSL_set_accept_state(connection)
        self.descriptor = descriptor
        self.shared = shared
        self.connection = connection
    }

    deinit { SSL_free(connection) }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> WireTurn {
        turn { SSL_read(connection, buffer.baseAddress, Int32(clamping: buffer.count)) }
    }

    func send(_ bytes: UnsafeRawBufferPointer) -> WireTurn {
        turn { SSL_write(connection, bytes.baseAddress, Int32(clamping: bytes.count)) }
    }

    func endSending() {
        // Before the handshake has completed, SSL_shutdown fails without effect; its error must not remain on the
        // thread.
        ERR_clear_error()
        SSL_shutdown(connection)
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    var hasAgreedOnHTTP2: Bool {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(connection, &name, &count)
        let agreed = UnsafeBufferPointer(start: name, count: Int(count))
        return agreed.elementsEqual(TestServer.ApplicationProtocol.http2.rawValue.utf8)
    }

    private func turn(_ call: () -> Int32) -> WireTurn {
        // SSL_get_error reads the thread's error queue, so an error of an earlier call would be attributed to this one.
        ERR_clear_error()
        let count = call()
        guard count <= 0 else { return .moved(Int(count)) }
        switch SSL_get_error(connection, count) {
        case SSL_ERROR_WANT_READ: return .needs(.readable)
        case SSL_ERROR_WANT_WRITE: return .needs(.writable)
        default: return .ended
        }
    }
}

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
