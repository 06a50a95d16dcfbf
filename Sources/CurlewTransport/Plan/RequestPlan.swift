internal import CCurl
internal import CurlewCore
internal import Foundation

/// The options and header lines of one request, for its easy handle. `RequestPlanner.plan` makes it in the caller's
/// task, without a handle.
///
/// This file has what a plan consists of, its header lines, and the changes with which a transfer restarts.
/// `RequestPlan+Parts` plans the options.
struct RequestPlan: Sendable {
    /// The way in which libcurl gets the body.
    enum Body: Equatable, Sendable {
        case none
        /// In memory and small. libcurl sends it together with the head.
        case fields(Data)
        /// Read in pieces. `nil` if the length is unknown.
        case upload(Int64?)
    }

    /// An exchange, or only a connection. (`TransferOptions.purpose` is another matter: the use of the body.)
    enum Goal: Sendable {
        case exchange
        /// Makes a connection for arbitrary bytes, over which its user speaks HTTP/1.1. `sendBuffer` is the number of
        /// bytes that may be queued. The handle keeps the connection.
        case byteConnection(sendBuffer: Int)
        /// Finds an idle connection that is alive, or opens one, for later requests. With `opensNew`, opens one in any
        /// case. `ActiveTransfer.stopBeforeSending` ends the transfer.
        case prewarming(opensNew: Bool)
    }

    var goal = Goal.exchange
    /// The send buffer of the byte connection to make; `nil` for any other goal.
    var sendBuffer: Int? { if case .byteConnection(let sendBuffer) = goal { sendBuffer } else { nil } }
    var makesByteConnection: Bool { if case .byteConnection = goal { true } else { false } }
    /// Whether the transfer makes a connection for later requests.
    var prewarms: Bool { if case .prewarming = goal { true } else { false } }
    /// Whether the transfer opens a connection for later requests even if an idle one is there.
    var opensAnother: Bool { if case .prewarming(opensNew: true) = goal { true } else { false } }

    // MARK: Options

    /// The options apart from URL, header list and body. Two requests with equal settings can use one handle in turn
    /// without a reset.
    var settings: [OptionValue] {
        // Later options win.
        if let route { usualSettings + route.settings } else { usualSettings }
    }
    /// The settings of the usual route.
    var usualSettings: [OptionValue] = []
    /// The HTTP/3 route; `nil` if the request takes the usual one.
    var route: PlannedRoute?
    /// Whether the handle must have no state of earlier requests, such as authentication, and leave none to later ones.
    private(set) var needsOwnHandle = false

    // MARK: The request

    var wire: WireURL
    var url: String { wire.string }
    var host: String { wire.host }
    var isTLS: Bool { wire.isTLS }
    var origin: ConnectionSnapshot.Origin {
        ConnectionSnapshot.Origin(scheme: isTLS ? "https" : "http", host: host, port: wire.port)
    }
    /// The question for the configuration's resolver; `nil` if there is none.
    var question: HostQuestion?
    var headerLines: [String] = []
    /// The session's prebuilt header list, to follow `headerLines`; `nil` if `headerLines` has the session's fields, or
    /// if there are none.
    var defaultHeaderList: CurlStringList?
    var body: Body = .none
    /// Whether `Expect: 100-continue` is added, by a header line or by libcurl itself. False for a caller's own field.
    var sendsExpect = false
    /// Whether libcurl may send the request again on another connection although a server may have processed it. If
    /// not, it may only if evidence shows that none has (`ActiveTransfer.answerToRepetition`).
    var mayBeResent = true

    // MARK: The connection

    /// Whether the request has a connection that no other request uses, before or after it. See `goAlone`.
    private(set) var isAlone = false
    /// Whether the request must leave the shared connection if the server offers to authenticate the connection.
    var goesAloneIfOffered = false
    /// Whether libcurl closes the connection after the request.
    var closesConnection: Bool {
        settings.last { $0.option == CURLOPT_FORBID_REUSE } == .long(CURLOPT_FORBID_REUSE, 1)
    }
    /// Whether the request bypasses the proxy because of the proxy's exclusions.
    var leavesOutProxy = false
    /// The request's timeouts, not yet started.
    var clocks: TransferClocks

    // MARK: Planning

    /// Larger bodies are read in pieces, so that progress and timeouts see them advance.
    static let piecewiseThreshold = 64 * 1024
    /// The size up to which a body is not worth the round trip of `Expect` (RFC 9110, 10.1.1).
    static let expectThreshold: Int64 = 1024 * 1024
    static let expectLine = "Expect: 100-continue"
    /// Keeps libcurl from adding the field.
    static let noExpectLine = "Expect:"
    static let noAcceptLine = "Accept:"

    /// Plans the request's own header lines. They include the session's fields only if the request replaces one of
    /// them.
    mutating func planHeaders(_ request: TransferRequest, _ configuration: TransportConfiguration)
        throws(CurlewError)
    {
        let own = request.headers
        if !own.isEmpty {
            headerLines = try HeaderLines.lines(of: own)
            if let defaults = request.defaultHeaders?.headers, own.contains(where: { defaults.contains(name: $0.name) })
            {
                defaultHeaderList = nil
                headerLines += try HeaderLines.lines(of: defaults) { !own.contains(name: $0) }
                if !configuration.addsAccept { headerLines.append(Self.noAcceptLine) }
            }
        }
        guard body != .none || request.method == .post || request.method == .put || request.method == .patch
        else { return }
        let has = { (name: String) in
            own.contains(name: name) || request.defaultHeaders?.headers.contains(name: name) == true
        }
        // Without this line libcurl declares every body that it posts as a form.
        if !has("Content-Type") { headerLines.append("Content-Type:") }
        if !has("Expect") { planExpect(request) }
    }

    private mutating func planExpect(_ request: TransferRequest) {
        let length: Int64? =
            switch body {
            case .none: 0
            case .fields(let data): Int64(data.count)
            case .upload(let length): length
            }
        sendsExpect =
            switch request.options.expectContinue {
            case .always: length != 0
            case .never: false
            // For a body of unknown length, `Expect` is sent only if the body can be read once and a challenge could
            // consume it. Most servers send no 100 before they read such a body, so waiting for it would cost a second.
            case .automatic:
                length.map { $0 > Self.expectThreshold } ?? (!request.body.isReplayable && request.mayBeChallenged)
            }
        // libcurl adds the field itself to an upload that is large or of unknown length, old versions to every upload.
        guard case .upload = body else {
            if sendsExpect { headerLines.append(Self.expectLine) }
            return
        }
        let isLarge = length.map { $0 > Self.expectThreshold } ?? true
        if !sendsExpect {
            headerLines.append(Self.noExpectLine)
        } else if !isLarge {
            headerLines.append(Self.expectLine)
        }
    }

    /// The header lines as libcurl gets them: the request's own, followed by the session's list. `nil` if there are
    /// none.
    var headerList: CurlStringList? {
        headerLines.isEmpty ? defaultHeaderList : CurlStringList(lines: headerLines, rest: defaultHeaderList)
    }

    /// Returns to the usual route.
    mutating func leaveRoute() {
        guard let route else { return }
        headerLines.removeAll { $0 == route.headerLine }
        self.route = nil
    }

    /// Gives the request a connection that no other request uses and that is closed after it.
    ///
    /// A connection that NTLM or Negotiate has authenticated, or that leads through a proxy with particular
    /// credentials, belongs to one user. libcurl up to 8.19 would use it for requests of others (CVE-2026-1965,
    /// CVE-2026-5545). The connection speaks HTTP/1.1 unless that is excluded. `Handles` runs such requests in a multi
    /// handle without multiplexing, because the later rounds of a handshake ignore CURLOPT_FRESH_CONNECT.
    mutating func goAlone(_ version: HTTPVersionPolicy) {
        guard !isAlone else { return }
        isAlone = true
        if !version.excludesHTTP1 { usualSettings.append(.long(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)) }
        usualSettings += [
            .long(CURLOPT_PIPEWAIT, 0), .long(CURLOPT_FRESH_CONNECT, 1), .long(CURLOPT_FORBID_REUSE, 1),
        ]
    }

    /// Adds settings that other requests of its kind do not have, such as credentials. Even without any, the request
    /// gets a handle that is not shared.
    mutating func addPrivateSettings(_ more: [OptionValue]) {
        usualSettings += more
        needsOwnHandle = true
    }

    /// Removes `Expect`, for the repetition of a request that a server refused with 417.
    mutating func leaveOutExpect() {
        sendsExpect = false
        headerLines.removeAll { $0 == Self.expectLine }
        if case .upload = body { headerLines.append(Self.noExpectLine) }
    }
}

extension TransferRequest {
    /// Whether sending the request twice is harmless, because of its method, and possible, because of its body.
    var isRepeatable: Bool { method.isIdempotent && body.isReplayable }

    /// Whether the request sends its credentials only in answer to a challenge.
    fileprivate var mayBeChallenged: Bool {
        switch options.authentication?.scheme {
        case .any, .digest, .ntlm, .negotiate: true
        case .basic, .bearer, .awsSigV4, nil: false
        }
    }
}

/// Formats header fields for libcurl. A field that could forge a second one is rejected.
enum HeaderLines {
    /// Only the transport sets the fields of framing: a caller's value could contradict the body that is sent.
    private static func isFraming(_ name: String) -> Bool {
        switch name.utf8.count {
        case 14: ASCII.equalsIgnoringCase(name, "Content-Length")
        case 17: ASCII.equalsIgnoringCase(name, "Transfer-Encoding")
        default: false
        }
    }

    static func lines(of headers: HTTPHeaders, where isWanted: (String) -> Bool = { _ in true })
        throws(CurlewError) -> [String]
    {
        var lines: [String] = []
        lines.reserveCapacity(headers.count + 2)
        for field in headers {
            guard field.isValid else { throw CurlewError.invalidHeader(field) }
            if isFraming(field.name) || !isWanted(field.name) { continue }
            lines.append(line(of: field))
        }
        return lines
    }

    /// `Name;` is libcurl's form of a field with an empty value. `Name:` would remove the field.
    private static func line(of field: HTTPHeader) -> String {
        let isBlank = field.value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
        return isBlank ? field.name + ";" : field.name + ": " + field.value
    }
}
