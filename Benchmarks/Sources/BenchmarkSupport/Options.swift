public import Foundation

/// The command line of a client, like that of C/limit.c: `MODE URL name=value…`.
public struct Options: Sendable {
    public enum Mode: String, Sendable {
        /// Small responses, `in-flight` at a time, for some seconds.
        case get
        /// A document that is decoded.
        case json
        /// A response that is discarded while it arrives, or written to `file`.
        case download
        /// A file as the body.
        case upload
        /// A form with a file.
        case multipart
        /// As many requests as `in-flight` says, started together and only once.
        case hold
    }

    public var mode: Mode
    public var url: String
    public var inFlight = 1
    public var seconds = 2.0
    public var warmUp = 0.3
    /// The maximum number of connections to the host, if it is lower than the number of requests in flight.
    public var connections: Int?
    /// The number of engines that share the requests.
    public var engines = 1
    /// A fixed number of requests instead of a time.
    public var count: Int?
    public var file: URL?
    public var usesHTTP2 = false
    /// Whether only HTTP/3 is used. Only the session's client can do that.
    public var usesHTTP3 = false
    /// Whether each request gets a new connection.
    public var closes = false
    /// A file with roots that replace those of the system.
    public var rootsFile: URL?
    /// Whether `rootsFile` is read first, and given to the client as bytes.
    public var hasRootsInMemory = false
    /// Whether every request has ten adapters, a retrier and three monitors, which do nothing.
    public var isChained = false
    /// Whether the session's transport is wrapped in one that only forwards.
    public var isDecorated = false
    /// Whether the session has a cache.
    public var isCached = false
    /// Whether the session hedges requests with the method HEAD, which no client sends.
    public var isHedging = false
    /// Whether the session has a rate limit that is never reached, and a circuit breaker.
    public var isResilient = false

    public init?(_ arguments: [String]) {
        guard arguments.count >= 3, let mode = Mode(rawValue: arguments[1]) else { return nil }
        self.mode = mode
        url = arguments[2]
        for argument in arguments.dropFirst(3) {
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { return nil }
            switch parts[0] {
            case "in-flight": inFlight = Int(parts[1]) ?? 1
            case "seconds": seconds = Double(parts[1]) ?? 2
            case "warm-up": warmUp = Double(parts[1]) ?? 0.3
            case "connections": connections = Int(parts[1])
            case "engines": engines = Int(parts[1]) ?? 1
            case "count": count = Int(parts[1])
            case "file": file = URL(fileURLWithPath: parts[1])
            case "http2": usesHTTP2 = parts[1] == "1"
            case "http3": usesHTTP3 = parts[1] == "1"
            case "close": closes = parts[1] == "1"
            case "ca": rootsFile = URL(fileURLWithPath: parts[1])
            case "pem": (rootsFile, hasRootsInMemory) = (URL(fileURLWithPath: parts[1]), true)
            case "chained": isChained = parts[1] == "1"
            case "decorated": isDecorated = parts[1] == "1"
            case "cached": isCached = parts[1] == "1"
            case "hedging": isHedging = parts[1] == "1"
            case "resilient": isResilient = parts[1] == "1"
            default: return nil
            }
        }
        if mode == .hold { count = inFlight }
    }

    public static let usage = """
        MODE URL [in-flight=N seconds=S warm-up=S count=N file=PATH http2=1 http3=1 close=1 ca=PATH pem=PATH
         chained=1 decorated=1 cached=1 hedging=1 resilient=1 connections=N engines=N]
        MODE: get json download upload multipart hold
        """
}
