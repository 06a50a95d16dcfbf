internal import CCurl
internal import CurlewCore

/// Whether a server can have carried out what was sent; asked of requests that must not be carried out twice.
///
/// Over HTTP/2 only the text of libcurl's trace tells: which stream the request had, and which was the last that a
/// GOAWAY says is processed (RFC 9113, 6.8). Where a version words it differently nothing is known, and nothing sent again.
struct SendingWitness {
    /// Bytes of requests that libcurl had sent before.
    private var bytesBefore = 0
    /// Whether the connection was made for this transfer.
    private var isOnNewConnection = false
    private(set) var speaksHTTP2 = false
    private var stream: Int?
    private var lastProcessed: Int?

    init() {}

    /// The request is about to be sent.
    init(_ easy: TransferHandle, isTLS: Bool, isFirst: Bool) {
        bytesBefore = curlew_get_long(easy.handle, CURLINFO_REQUEST_SIZE)
        // Later rounds of a handshake go over the same connection.
        isOnNewConnection = isFirst && curlew_get_long(easy.handle, CURLINFO_NUM_CONNECTS) > 0
        if isTLS, easy.transfers.settings.usesOpenSSL {
            speaksHTTP2 = curlew_tls_connection(easy.handle).map { curlew_tls_speaks_http2($0) != 0 } ?? false
        } else {
            speaksHTTP2 = easy.transfers.settings.hasPriorKnowledge
        }
    }

    /// A line of libcurl's trace.
    mutating func note(_ text: UnsafeRawBufferPointer) {
        let line = text.prefix(200)
        if line.starts(with: Self.usingStream) {
            stream = Self.number(line.dropFirst(Self.usingStream.count))
        } else if line.starts(with: Self.tag) {
            // [HTTP/2] [3] OPENED stream for …
            let rest = line.dropFirst(Self.tag.count)
            let end = rest.drop { ASCII.isDigit($0) }
            if end.starts(with: Self.opened) { stream = Self.number(rest) }
        } else if line.starts(with: Self.goaway) || line.starts(with: Self.goawayMisspelt) {
            guard let equals = line.lastIndex(of: UInt8(ascii: "=")) else { return }
            lastProcessed = Self.number(line[(equals + 1)...])
        }
    }

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

    /// Whether nothing of the request was taken: the connection was dead already.
    func isUnsent(_ easy: TransferHandle) -> Bool {
        curlew_get_long(easy.handle, CURLINFO_REQUEST_SIZE) == bytesBefore
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
            || easy.transfers.settings.triesAgainSilentlyOnRefusal && easy.errorMessage.isEmpty
    }
}
