internal import CurlewCore

/// Everything besides the transport that determines the settings of a request without a body.
struct RequestShape: Sendable {
    private let method: HTTPMethod
    private let isTLS: Bool
    private let options: TransferOptions
    private let hasDefaultHeaders: Bool

    /// Whether other requests can have the same settings: the request has no body, no credentials and no proxy of its
    /// own.
    static func isShared(_ request: TransferRequest) -> Bool {
        guard case .none = request.body else { return false }
        return isShared(request.options)
    }

    private static func isShared(_ options: TransferOptions) -> Bool {
        !options.hasAuthentication && options.proxy == nil
    }

    init(_ request: TransferRequest, isTLS: Bool) {
        method = request.method
        self.isTLS = isTLS
        options = request.options
        hasDefaultHeaders = request.defaultHeaders != nil
    }

    func isThat(of request: TransferRequest, isTLS: Bool) -> Bool {
        self.isTLS == isTLS && hasDefaultHeaders == (request.defaultHeaders != nil) && method == request.method
            && (options.isCopy(of: request.options) || hasSettings(of: request.options))
    }

    private func hasSettings(of other: TransferOptions) -> Bool {
        Self.isShared(other) && options.multiplexes == other.multiplexes
            && options.decodesContent == other.decodesContent && options.purpose == other.purpose
            && options.trafficClass == other.trafficClass && options.uploadRateLimit == other.uploadRateLimit
            && options.downloadRateLimit == other.downloadRateLimit
            && hasClocks(of: other.timeouts)
    }

    /// Whether the timeouts are equal. The total timeout is ignored: it shrinks from attempt to attempt.
    private func hasClocks(of other: Timeouts) -> Bool {
        let own = options.timeouts
        return own.connect == other.connect && own.firstByte == other.firstByte && own.idle == other.idle
            && own.queue == other.queue
    }
}
