public import CurlewCore
public import Foundation

/// What a `MockTransport` answers.
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
    /// The protocol version that the head says.
    public var version: HTTPVersion = .http1_1
    /// The fields, sent as they are: `Content-Length` only where it is given.
    public var headers: HTTPHeaders
    /// 1xx heads that come first.
    public var interim: [ResponseHead] = []
    /// The body, in the pieces in which the sink gets it.
    public var body: [Piece]
    /// Fields after the body.
    public var trailers: HTTPHeaders = [:]
    /// Held before the head until this opens.
    public var gate: Gate?
    /// How the exchange ends instead of well: after the body, or before the head where `failsAtOnce`.
    public var error: CurlewError?
    /// Whether `error` comes instead of the head.
    public var failsAtOnce = false
    /// Reported as the exchange's; nil makes plain ones.
    public var metrics: TransferMetrics?

    /// A part of a body.
    public enum Piece: Sendable {
        /// One call of the sink.
        case bytes(Data)
        /// Nothing more until the gate opens.
        case wait(Gate)
    }

    /// Creates a response.
    public init(status: Int = 200, reason: String = "", headers: HTTPHeaders = [:], body: [Piece] = []) {
        self.status = status
        self.reason = reason
        self.headers = headers
        self.body = body
    }

    /// The head as the sink gets it.
    public var head: ResponseHead {
        ResponseHead(status: status, reason: reason, version: version, headers: headers)
    }
}

extension MockResponse {
    /// A status without a body.
    public static func status(_ status: Int, headers: HTTPHeaders = [:]) -> Self {
        Self(status: status, headers: headers)
    }

    /// Bytes of some type, with their length.
    public static func data(_ data: Data, status: Int = 200, type: String = "application/octet-stream") -> Self {
        Self(
            status: status,
            headers: ["Content-Type": type, "Content-Length": String(data.count)],
            body: data.isEmpty ? [] : [.bytes(data)]
        )
    }

    /// Plain UTF-8 text.
    public static func text(_ text: String, status: Int = 200, type: String = "text/plain; charset=utf-8") -> Self {
        .data(Data(text.utf8), status: status, type: type)
    }

    /// A value as JSON with sorted keys; an `.internal` error if it cannot be encoded.
    public static func json(_ value: some Encodable, status: Int = 200) -> Self {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return .data(try encoder.encode(value), status: status, type: "application/json")
        } catch {
            return .failing(CurlewError(.`internal`, phase: .creation, reason: "mock value", underlying: error))
        }
    }

    /// A body in pieces, without a length.
    public static func chunks(_ chunks: [Data], status: Int = 200, type: String = "application/octet-stream") -> Self {
        Self(status: status, headers: ["Content-Type": type], body: chunks.map { .bytes($0) })
    }

    /// A redirect.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        Self(status: status, headers: ["Location": location])
    }

    /// No answer but this error.
    public static func failing(_ error: CurlewError) -> Self {
        var response = Self()
        response.error = error
        response.failsAtOnce = true
        return response
    }

    /// No answer until the exchange is cancelled.
    public static var hanging: Self {
        var response = Self()
        response.gate = Gate()
        return response
    }

    /// The same, but the exchange ends with this error after the last piece.
    public func failing(with error: CurlewError) -> Self { changed { $0.error = error } }

    /// The same, held before the head until the gate opens.
    public func waiting(for gate: Gate) -> Self { changed { $0.gate = gate } }

    /// The same with one more field.
    public func header(_ name: String, _ value: String) -> Self {
        changed { $0.headers.append(name: name, value: value) }
    }

    /// The same, changed by a closure.
    public func changed(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}
