public import CurlewCore
public import Foundation

extension TestServer {
    /// A response of the server, and the faults that happen while it is sent.
    ///
    ///     .text("hello")
    ///     .json(["a": 1]).delayed(by: .milliseconds(50))
    ///     .bytes(1_000_000).faulting(.reset, at: .inBody(after: 1_000))
    public struct Response: Sendable {
        /// The status code.
        public var status: Int
        /// The reason phrase. `nil` sends the standard one.
        public var reason: String?
        /// The fields, sent in this order and case. The server adds `Content-Length` or `Transfer-Encoding` according
        /// to `framing` if the field is missing; set a wrong value to send a wrong one.
        public var headers: HTTPHeaders
        /// The body after the head.
        public var body: Body
        /// The way in which the end of the body is signalled.
        public var framing: Framing = .automatic
        /// Fields sent after a chunked body, or after any body over HTTP/2.
        public var trailers: HTTPHeaders = [:]
        /// 1xx responses that precede this one.
        public var interim: [Interim] = []
        /// The time that the server waits before the first byte of the response.
        public var delay: Duration = .zero
        /// The rate of sending the response, in bytes per second. `nil` sends as fast as the peer reads.
        public var sendRate: Int?
        /// The rate of reading the request, in bytes per second. Has an effect only in scripts.
        public var readRate: Int?
        /// The faults. Faults at one point happen in the order of the array.
        public var faults: [Fault] = []
        /// Whether the server ends the connection after the response and announces it (`Connection: close`).
        public var closesConnection = false
        /// The handling of `Expect: 100-continue`. Has an effect only in scripts; routes set theirs in `route`.
        public var expectation: Expectation?
        /// Whether the request's body is read before the response. Has an effect only in scripts. If false, an HTTP/1.1
        /// connection ends after the response, because the start of the next request is unknown.
        public var readsBody = true
        /// The WebSocket that follows a 101.
        var conversation: AgreedConversation?

        /// Creates a response.
        public init(
            status: Int = 200,
            reason: String? = nil,
            headers: HTTPHeaders = [:],
            body: Body = .none
        ) {
            self.status = status
            self.reason = reason
            self.headers = headers
            self.body = body
        }

        /// The source of the body's bytes.
        public enum Body: Sendable {
            /// No body.
            case none
            /// These bytes.
            case data(Data)
            /// One chunk for each element, with a pause in between.
            case chunks([Data], every: Duration = .zero)
            /// Generated while it is sent: `make(offset, most)` returns at most `most` bytes from `offset` on, and none
            /// at the end. Called on the server's thread.
            case generated(length: Int64?, make: @Sendable (_ offset: Int64, _ most: Int) -> Data)
            /// The request's body, piece by piece as it arrives; the head is sent before any of it is read. Has an
            /// effect only in scripts. Faults in the body have no effect, and the request is recorded when its body has
            /// ended.
            case echo
        }

        /// The way in which the end of a body is signalled.
        public enum Framing: Sendable, Hashable {
            /// By length if it is known, otherwise chunked (until close for HTTP/1.0).
            case automatic
            /// In chunks.
            case chunked
            /// By the end of the connection.
            case untilClose
            /// Nothing is added to the head or the body.
            case asIs
            /// No head is sent: the body's chunks are the whole response.
            case raw
        }

        /// A 1xx response.
        public struct Interim: Sendable {
            /// The status code, 100 to 199.
            public var status: Int
            /// The fields.
            public var headers: HTTPHeaders
            /// The time that the server waits after it.
            public var pause: Duration

            /// Creates an interim response.
            public init(status: Int, headers: HTTPHeaders = [:], pause: Duration = .zero) {
                self.status = status
                self.headers = headers
                self.pause = pause
            }
        }
    }

    /// The server's handling of `Expect: 100-continue`.
    public enum Expectation: Sendable, Hashable {
        /// Answers 100 and reads the body.
        case answer
        /// Sends no 100 and waits for the body.
        case ignore
        /// Answers 417 at once without reading the body. An HTTP/1.1 connection then ends.
        case refuse
    }
}

extension TestServer.Response {
    /// A response with UTF-8 text.
    public static func text(_ text: String, status: Int = 200, type: String = "text/plain; charset=utf-8") -> Self {
        .data(Data(text.utf8), status: status, type: type)
    }

    /// A response with this body and its content type.
    public static func data(_ data: Data, status: Int = 200, type: String = "application/octet-stream") -> Self {
        Self(status: status, headers: ["Content-Type": type], body: .data(data))
    }

    /// A response with a value encoded as JSON with sorted keys; 500 if it cannot be encoded.
    public static func json(_ value: some Encodable, status: Int = 200) -> Self {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return .data(try encoder.encode(value), status: status, type: "application/json")
        } catch {
            return .text("\(error)", status: 500)
        }
    }

    /// A response that has a status and no body.
    public static func status(_ status: Int, headers: HTTPHeaders = [:]) -> Self {
        Self(status: status, headers: headers)
    }

    /// A response of `count` bytes that depend only on `seed` and their positions (`TestServer.patternBytes`).
    public static func bytes(_ count: Int64, seed: UInt64 = 0) -> Self {
        Self(
            headers: ["Content-Type": "application/octet-stream"],
            body: .generated(length: count) { offset, most in
                TestServer.patternBytes(from: offset, count: most, seed: seed)
            }
        )
    }

    /// A redirect to a location.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        Self(status: status, headers: ["Location": location])
    }

    /// Sends exactly these bytes, one segment for each element, then ends the connection.
    public static func raw(_ segments: [String], every pause: Duration = .zero) -> Self {
        raw(segments.map { Data($0.utf8) }, every: pause)
    }

    /// Sends exactly these bytes, one segment for each element, then ends the connection.
    public static func raw(_ segments: [Data], every pause: Duration = .zero) -> Self {
        var response = Self(body: .chunks(segments, every: pause))
        response.framing = .raw
        response.closesConnection = true
        return response
    }

    /// Never responds: the connection stays open until the peer leaves or the server stops.
    public static var hanging: Self { Self().faulting(.stall(), at: .beforeHead) }
}

extension TestServer.Response {
    /// Returns a copy with one more fault.
    public func faulting(_ action: TestServer.Fault.Action, at point: TestServer.Fault.Point) -> Self {
        changed { $0.faults.append(TestServer.Fault(action, at: point)) }
    }

    /// Returns a copy that pauses at that point until the gate opens.
    public func stalling(until gate: Gate, at point: TestServer.Fault.Point) -> Self {
        faulting(.stall(until: gate), at: point)
    }

    /// Returns a copy that waits for a duration before the response.
    public func delayed(by delay: Duration) -> Self { changed { $0.delay = delay } }

    /// Returns a copy that is sent at this rate.
    public func throttled(to bytesPerSecond: Int) -> Self { changed { $0.sendRate = bytesPerSecond } }

    /// Returns a copy after which the connection ends, announced by `Connection: close`.
    public func closing() -> Self { changed { $0.closesConnection = true } }

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

extension TestServer {
    /// The bytes that `/bytes/{n}`, `/download/{n}` and similar routes send, from `offset` on.
    ///
    /// A test compares a received range with the corresponding range of these bytes.
    public static func patternBytes(from offset: Int64 = 0, count: Int, seed: UInt64 = 0) -> Data {
        guard count > 0 else { return Data() }
        // One block is repeated for each seed. Its length is prime, so it does not align with power-of-two boundaries.
        let block = PatternBlock.block(seed: seed)
        var data = Data(capacity: count)
        var position = Int(offset % Int64(block.count))
        var left = count
        while left > 0 {
            let part = min(left, block.count - position)
            data.append(contentsOf: block[position..<position + part])
            left -= part
            position = 0
        }
        return data
    }
}

extension TestServer {
    /// A fault that happens at one point of an exchange.
    public struct Fault: Sendable {
        /// The point of the exchange at which the fault happens.
        public var point: Point
        /// The effect of the fault.
        public var action: Action

        /// Creates a fault.
        public init(_ action: Action, at point: Point) {
            self.action = action
            self.point = point
        }

        /// A point of an exchange.
        public enum Point: Sendable, Hashable {
            /// Before any byte of the request is read. If the response is chosen by path, it is known only after the
            /// head; the fault then happens before the body is read.
            case beforeReading
            /// After this number of bytes of the request's body has been read.
            case readingBody(after: Int64 = 0)
            /// After the request has been read, before the first byte of the response.
            case beforeHead
            /// After this number of bytes of the head has been sent.
            case inHead(after: Int)
            /// After this number of bytes of the response's body has been sent (0: right after the head).
            case inBody(after: Int64)
            /// After the whole response has been sent.
            case atEnd
        }

        /// The effect of a fault.
        public enum Action: Sendable {
            /// Ends the connection with FIN.
            case close
            /// Ends the connection with RST.
            case reset
            /// Ends the server's direction with FIN; the server keeps reading and discards the bytes.
            case halfClose
            /// Pauses for a duration.
            case delay(Duration)
            /// Pauses until the gate opens; without a gate, until the peer leaves or the server stops.
            case stall(until: Gate? = nil)
            /// From this point on, sends this number of bytes at a time, with a pause in between.
            case dribble(bytes: Int, every: Duration)
            /// From this point on, reads this number of bytes at a time, with a pause in between.
            case dribbleReading(bytes: Int, every: Duration)
            /// Sends these bytes, whatever the framing.
            case garbage(Data)
        }
    }
}

extension TestServer.Fault.Action {
    /// Eight bytes that are invalid as a head, a chunk or a content coding.
    public static let garbage = Self.garbage(Data([0x00, 0xFF, 0x0A, 0x0D, 0x7F, 0x80, 0x0D, 0x0A]))
}

extension TestServer.Response {
    /// The response to a refused expectation.
    static var refusal: Self {
        var refusal = Self.status(417).closing()
        refusal.readsBody = false
        return refusal
    }
}
