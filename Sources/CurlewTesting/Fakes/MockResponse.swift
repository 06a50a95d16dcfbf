public import CurlewCore
public import Foundation

/// A canned response of a ``MockTransport``.
///
///     .json(User(name: "Ada"))
///     .text("busy", status: 503).header("Retry-After", "1")
///     .failing(CurlewError(.connectFailed, phase: .connect))
///     .data(half).failing(with: CurlewError(.truncated, phase: .receive))
///     .hanging
public struct MockResponse: Sendable {
    /// The status code.
    public var status: Int
    /// The reason phrase.
    public var reason: String
    /// The protocol version of the head.
    public var version: HTTPVersion = .http1_1
    /// The fields, sent as they are: `Content-Length` is not added.
    public var headers: HTTPHeaders
    /// 1xx heads that are sent before the final one.
    public var interim: [ResponseHead] = []
    /// The body, in the pieces in which the sink receives it.
    public var body: [Piece]
    /// Fields after the body.
    public var trailers: HTTPHeaders = [:]
    /// Delays the head until this gate opens.
    public var gate: Gate?
    /// The error that ends the exchange: after the body, or instead of the head if `failsAtOnce`.
    public var error: CurlewError?
    /// Whether `error` replaces the head and the body.
    public var failsAtOnce = false
    /// The metrics that the exchange reports. `nil` generates plausible ones.
    public var metrics: TransferMetrics?

    /// A part of a body.
    public enum Piece: Sendable {
        /// Bytes that the sink receives in one call.
        case bytes(Data)
        /// Delivers nothing more until the gate opens.
        case wait(Gate)
    }

    /// Creates a response.
    public init(status: Int = 200, reason: String = "", headers: HTTPHeaders = [:], body: [Piece] = []) {
        self.status = status
        self.reason = reason
        self.headers = headers
        self.body = body
    }

    /// The head that the sink receives.
    public var head: ResponseHead {
        ResponseHead(status: status, reason: reason, version: version, headers: headers)
    }
}

extension MockResponse {
    /// A response that has a status and no body.
    public static func status(_ status: Int, headers: HTTPHeaders = [:]) -> Self {
        Self(status: status, headers: headers)
    }

    /// A response with this body, its content type and its length.
    public static func data(_ data: Data, status: Int = 200, type: String = "application/octet-stream") -> Self {
        Self(
            status: status,
            headers: ["Content-Type": type, "Content-Length": String(data.count)],
            body: data.isEmpty ? [] : [.bytes(data)]
        )
    }

    /// A response with UTF-8 text.
    public static func text(_ text: String, status: Int = 200, type: String = "text/plain; charset=utf-8") -> Self {
        .data(Data(text.utf8), status: status, type: type)
    }

    /// A response with a value encoded as JSON with sorted keys. If encoding fails, the exchange fails with
    /// `.internal`.
    public static func json(_ value: some Encodable, status: Int = 200) -> Self {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return .data(try encoder.encode(value), status: status, type: "application/json")
        } catch {
            return .failing(CurlewError(.`internal`, phase: .creation, reason: "mock value", underlying: error))
        }
    }

    /// A response whose body is delivered in pieces, without `Content-Length`.
    public static func chunks(_ chunks: [Data], status: Int = 200, type: String = "application/octet-stream") -> Self {
        Self(status: status, headers: ["Content-Type": type], body: chunks.map { .bytes($0) })
    }

    /// A redirect to a location.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        Self(status: status, headers: ["Location": location])
    }

    /// Fails the exchange with this error instead of responding.
    public static func failing(_ error: CurlewError) -> Self {
        var response = Self()
        response.error = error
        response.failsAtOnce = true
        return response
    }

    /// Never responds; the exchange runs until it is cancelled.
    public static var hanging: Self {
        var response = Self()
        response.gate = Gate()
        return response
    }

    /// Returns a copy that fails with this error after the last piece of the body.
    public func failing(with error: CurlewError) -> Self { changed { $0.error = error } }

    /// Returns a copy that delays the head until the gate opens.
    public func waiting(for gate: Gate) -> Self { changed { $0.gate = gate } }

    /// Returns a copy with one more field.
    public func header(_ name: String, _ value: String) -> Self {
        changed { $0.headers.append(name: name, value: value) }
    }

    /// Returns a copy that the closure has changed.
    public func changed(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}
