internal import CCurl
internal import CurlewCore

/// Evidence from libcurl's trace and counters about one send of a request, and about its connection.
///
/// It shows whether a server can have carried out the request. Over HTTP/2 only the trace contains the request's stream
/// and the last stream that a GOAWAY declares as processed (RFC 9113, 6.8). If a version of libcurl words its trace
/// differently, nothing is known and nothing is sent again.
///
/// It also shows whether the connection survived the request: see `ActiveTransfer.responseEnded`.
struct DeliveryEvidence {
    /// A server's announcement that it accepts no further requests on the connection.
    struct GoAway: Equatable {
        /// The last stream that the server has processed or will process. `nil` if libcurl's text is not understood.
        var lastProcessed: Int?
        /// Whether the server asks for fewer requests (RFC 9113, 7: ENHANCE_YOUR_CALM).
        var asksForCalm: Bool
    }

    /// Whether libcurl announced the request before it sent it. Before 7.80 it announces none, and only the trace is
    /// known.
    private var wasAnnounced = false
    /// The number of request bytes that libcurl had sent before this send.
    private var bytesBefore = 0
    /// Whether the connection was made for this transfer.
    private var isOnNewConnection = false
    private var speaksHTTP2 = false
    private var stream: Int?
    /// The latest announcement of the connection's end.
    private var goAway: GoAway?
    /// The number of announcements that differed from the one before.
    private var goAwayCount = 0
    /// Whether the response has ended properly while the request's body was being sent.
    private(set) var responseEnded = false
    /// Whether the trace says that the connection was left intact.
    private var keepsConnection = false
    /// Whether the trace says that a connection was closed.
    private var closesConnection = false
    /// Whether libcurl has left the connection and looks for one for the next send. It reads what the server of an idle
    /// connection has sent, to learn whether that one is still alive, and writes a GOAWAY among it to this trace.
    private var isOver = false

    init() {}

    /// Creates the evidence for a request that is about to be sent.
    init(_ easy: TransferHandle, speaksHTTP2: Bool, isFirst: Bool) {
        self.speaksHTTP2 = speaksHTTP2
        wasAnnounced = true
        bytesBefore = curlew_get_long(easy.handle, CURLINFO_REQUEST_SIZE)
        // Later rounds of a handshake reuse the connection of the first.
        isOnNewConnection = isFirst && curlew_get_long(easy.handle, CURLINFO_NUM_CONNECTS) > 0
    }

    /// Records a line of libcurl's trace. Returns a new GOAWAY, for the connection's other transfers: libcurl writes it
    /// to the trace of only one of them.
    mutating func record(_ text: UnsafeRawBufferPointer) -> GoAway? {
        let line = text.prefix(200)
        if line.starts(with: Self.usingStream) {
            // Before 7.80 nothing else tells of the next send.
            if isOver { self = DeliveryEvidence() }
            stream = Self.number(line.dropFirst(Self.usingStream.count))
        } else if isOver {
            return nil
        } else if line.starts(with: Self.anotherRequest) {
            isOver = true
        } else if line.starts(with: Self.tag) {
            // [HTTP/2] [3] OPENED stream for …
            let rest = line.dropFirst(Self.tag.count)
            let end = rest.drop { ASCII.isDigit($0) }
            if end.starts(with: Self.opened) { stream = Self.number(rest) }
        } else if line.starts(with: Self.goaway) || line.starts(with: Self.goawayMisspelt) {
            guard let goAway = Self.goAway(in: line) else { return nil }
            return record(goAway) ? goAway : nil
        } else if line.starts(with: Self.stream), line.reversed().starts(with: Self.closed.reversed()) {
            responseEnded = true
        } else if line.starts(with: Self.closing) {
            closesConnection = true
        } else if line.starts(with: Self.connection), line.reversed().starts(with: Self.leftIntact.reversed()) {
            keepsConnection = true
        }
        return nil
    }

    /// Records an announcement about the connection. A server that closes gracefully sends two, of which the second has
    /// the last stream.
    ///
    /// Returns whether it has to be recorded for the other transfers on the connection, too. False for a repetition, and
    /// after several different ones: a GOAWAY is a small frame, and each would make the engine search all transfers.
    @discardableResult
    mutating func record(_ goAway: GoAway) -> Bool {
        var goAway = goAway
        if asksForCalm { goAway.asksForCalm = true }
        guard goAway != self.goAway else { return false }
        self.goAway = goAway
        goAwayCount += 1
        return goAwayCount <= Self.maximumSpreadGoAways
    }

    private static let maximumSpreadGoAways = 8

    // MARK: What it shows

    /// Whether the server has announced that it accepts no further requests on the connection.
    var connectionGoesAway: Bool { goAway != nil }

    /// Whether the server has asked for fewer requests.
    var asksForCalm: Bool { goAway?.asksForCalm ?? false }

    /// Whether libcurl closed the connection after the exchange although the server had not announced its end. A line
    /// about a closed connection is no proof: libcurl also writes one when it closes another connection to have room
    /// for this one, and writes afterwards that this one is left intact.
    ///
    /// If the request was not announced (before libcurl 7.80), the trace may be about earlier connections.
    var connectionBroke: Bool { wasAnnounced && closesConnection && !keepsConnection && !connectionGoesAway }

    /// Whether no byte of the request was sent, because the connection was already dead.
    func isUnsent(_ easy: TransferHandle) -> Bool {
        wasAnnounced && curlew_get_long(easy.handle, CURLINFO_REQUEST_SIZE) == bytesBefore
    }

    /// Whether the server has declared that it did not process the request's stream.
    var isAboveGoAway: Bool {
        if let stream, let last = goAway?.lastProcessed { last < stream } else { false }
    }

    /// Whether the server has declared that it did not process the request's stream, but has processed a stream before
    /// it on the connection. Stream 0 is no request.
    var isBehindProcessedStream: Bool { isAboveGoAway && goAway?.lastProcessed != 0 }

    /// Whether a refused stream is the only possible reason for libcurl to send again. Called when libcurl is about to
    /// do so without a challenge to answer.
    ///
    /// libcurl also sends again when a reused connection dies, but has recorded an error in that case (before 8.1).
    func isRefusedStream(_ easy: TransferHandle) -> Bool {
        guard speaksHTTP2 else { return false }
        return isOnNewConnection
            || easy.transfers.settings.quirks.triesAgainSilentlyOnRefusal && easy.errorMessage.isEmpty
    }

    // MARK: The trace

    /// Reads `received GOAWAY, error=11, last_stream=3`.
    private static func goAway(in line: Slice<UnsafeRawBufferPointer>) -> GoAway? {
        guard let first = line.firstIndex(of: UInt8(ascii: "=")), let last = line.lastIndex(of: UInt8(ascii: "="))
        else { return nil }
        return GoAway(
            lastProcessed: number(line[(last + 1)...]), asksForCalm: number(line[(first + 1)...]) == enhanceYourCalm)
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
    /// Written after libcurl has given the connection back, and before it looks for the next.
    private static let anotherRequest = Array("Issue another request".utf8)
    private static let goaway = Array("received GOAWAY, error=".utf8)
    // The spelling of 7.88 to 8.0.
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
}
