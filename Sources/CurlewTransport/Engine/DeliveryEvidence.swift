internal import CCurl
internal import CurlewCore

/// Evidence from libcurl's trace and counters about a request that was sent, and about its connection.
///
/// Whether a server can have carried it out: over HTTP/2 only the trace tells which stream the request had, and which was
/// the last that a GOAWAY says is processed (RFC 9113, 6.8). Where a version words it differently nothing is known, and
/// nothing sent again.
///
/// And whether its connection survived it: see `ActiveTransfer.isCutByConnection`.
struct DeliveryEvidence {
    /// Whether the request was announced before it was sent. Before 7.80 none is, and only the trace tells something.
    private var wasAnnounced = false
    /// Bytes of requests that libcurl had sent before.
    private var bytesBefore = 0
    /// Whether the connection was made for this transfer.
    private var isOnNewConnection = false
    private(set) var speaksHTTP2 = false
    private var stream: Int?
    private var lastProcessed: Int?
    /// The server has said that it takes no further requests on the connection: its end is announced.
    var connectionGoesAway = false
    /// The server wants fewer requests (RFC 9113, 7: ENHANCE_YOUR_CALM).
    private(set) var asksForCalm = false
    /// The response has ended well, while the request's body was on its way.
    private(set) var responseEnded = false
    private var keepsConnection = false
    private var closesConnection = false

    init() {}

    /// The request is about to be sent.
    init(_ easy: TransferHandle, isTLS: Bool, isFirst: Bool) {
        wasAnnounced = true
        bytesBefore = curlew_get_long(easy.handle, CURLINFO_REQUEST_SIZE)
        // Later rounds of a handshake go over the same connection.
        isOnNewConnection = isFirst && curlew_get_long(easy.handle, CURLINFO_NUM_CONNECTS) > 0
        if isTLS, easy.transfers.settings.usesOpenSSL {
            speaksHTTP2 = curlew_tls_connection(easy.handle).map { curlew_tls_speaks_http2($0) != 0 } ?? false
        } else {
            speaksHTTP2 = easy.transfers.settings.hasPriorKnowledge
        }
    }

    /// Records a line of libcurl's trace. Returns whether it is the first that says that the connection takes no further
    /// requests.
    mutating func record(_ text: UnsafeRawBufferPointer) -> Bool {
        let line = text.prefix(200)
        if line.starts(with: Self.usingStream) {
            stream = Self.number(line.dropFirst(Self.usingStream.count))
        } else if line.starts(with: Self.tag) {
            // [HTTP/2] [3] OPENED stream for …
            let rest = line.dropFirst(Self.tag.count)
            let end = rest.drop { ASCII.isDigit($0) }
            if end.starts(with: Self.opened) { stream = Self.number(rest) }
        } else if line.starts(with: Self.goaway) || line.starts(with: Self.goawayMisspelt) {
            guard let first = line.firstIndex(of: UInt8(ascii: "=")), let last = line.lastIndex(of: UInt8(ascii: "="))
            else { return false }
            if Self.number(line[(first + 1)...]) == Self.enhanceYourCalm { asksForCalm = true }
            lastProcessed = Self.number(line[(last + 1)...])
            return !exchange(&connectionGoesAway, with: true)
        } else if line.starts(with: Self.stream), line.reversed().starts(with: Self.closed.reversed()) {
            responseEnded = true
        } else if line.starts(with: Self.closing) {
            closesConnection = true
        } else if line.starts(with: Self.connection), line.reversed().starts(with: Self.leftIntact.reversed()) {
            keepsConnection = true
        }
        return false
    }

    private static let enhanceYourCalm = 11
    private static let stream = Array("stream ".utf8)
    private static let closed = Array(" closed\n".utf8)
    private static let closing = Array("Closing connection ".utf8)
    private static let connection = Array("Connection #".utf8)
    private static let leftIntact = Array(" left intact\n".utf8)

    private static let usingStream = Array("Using Stream ID: ".utf8)
    private static let tag = Array("[HTTP/2] [".utf8)
    private static let opened = Array("] OPENED stream".utf8)
    private static let goaway = Array("received GOAWAY, error=".utf8)
    // 7.88 to 8.0.
    private static let goawayMisspelt = Array("recveived GOAWAY, error=".utf8)

    private static func number(_ text: Slice<UnsafeRawBufferPointer>) -> Int? {
        var number = 0
        var digits = 0
        for byte in text {
            guard ASCII.isDigit(byte), digits < 10 else { break }
            number = number * 10 + Int(byte - 0x30)
            digits += 1
        }
        return digits > 0 ? number : nil
    }

    /// Whether libcurl ended the connection with the exchange, without the server's having announced it. It first says so when it
    /// ends another one to have room for this one.
    ///
    /// Of a request that was not announced (before libcurl 7.80) the trace may tell about connections before it.
    var connectionBroke: Bool { wasAnnounced && closesConnection && !keepsConnection && !connectionGoesAway }

    /// Whether nothing of the request was taken: the connection was dead already.
    func isUnsent(_ easy: TransferHandle) -> Bool {
        wasAnnounced && curlew_get_long(easy.handle, CURLINFO_REQUEST_SIZE) == bytesBefore
    }

    /// Whether the server has said that it did not look at the request's stream.
    var isAboveGoAway: Bool {
        if let stream, let lastProcessed { lastProcessed < stream } else { false }
    }

    /// libcurl is about to send again, without a challenge to answer: whether that can be a refused stream alone.
    ///
    /// Of a connection that was re-used it also does so when that dies. Up to 8.0 it then has noted an error.
    func isRefusedStream(_ easy: TransferHandle) -> Bool {
        guard speaksHTTP2 else { return false }
        return isOnNewConnection
            || easy.transfers.settings.libcurlTriesAgainSilentlyOnRefusal && easy.errorMessage.isEmpty
    }
}
