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
