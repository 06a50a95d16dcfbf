public import CurlewCore
public import Foundation

extension TestServer {
    /// What the server answers, and what goes wrong meanwhile.
    ///
    ///     .text("hello")
    ///     .json(["a": 1]).delayed(by: .milliseconds(50))
    ///     .bytes(1_000_000).faulting(.reset, at: .inBody(after: 1_000))
    public struct Response: Sendable {
        /// The status code.
        public var status: Int
        /// The reason phrase; nil is the usual one.
        public var reason: String?
        /// Sent in this order and case. `Content-Length` and `Transfer-Encoding` are added as `framing` says
        /// where they are not given: give a wrong one to lie.
        public var headers: HTTPHeaders
        /// What follows the head.
        public var body: Body
        /// How the body's end is told.
        public var framing: Framing = .automatic
        /// Sent after a chunked body, or after any over HTTP/2.
        public var trailers: HTTPHeaders = [:]
        /// 1xx answers that go before it.
        public var interim: [Interim] = []
        /// How long the server waits before the first byte of the answer.
        public var delay: Duration = .zero
        /// Bytes per second at which the answer is sent; nil is as fast as the peer takes it.
        public var sendRate: Int?
        /// Bytes per second at which the request is read; works for scripts.
        public var readRate: Int?
        /// What goes wrong, in the order of their points.
        public var faults: [Fault] = []
        /// Whether the server ends the connection after the answer and says so (`Connection: close`).
        public var closesConnection = false
        /// What becomes of `Expect: 100-continue`; works for scripts and for routes that name one.
        public var expectation: Expectation?
        /// Whether the request's body is read before the answer; works for scripts. When not, the
        /// connection ends after the answer, as it is unknown where the next request would begin.
        public var readsBody = true
        /// What follows a 101.
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

        /// Where the body's bytes come from.
        public enum Body: Sendable {
            /// No body.
            case none
            /// These bytes.
            case data(Data)
            /// One chunk each, with a pause between.
            case chunks([Data], every: Duration = .zero)
            /// Made while it is sent: `make(offset, most)` gives at most `most` bytes from `offset` on, and
            /// none at the end. Called on the server's thread.
            case generated(length: Int64?, make: @Sendable (_ offset: Int64, _ most: Int) -> Data)
            /// The request's body, piece by piece as it arrives: the head goes out before any of it is read. Works
            /// for scripts. Faults in the body have no effect, and the request is recorded when its body has ended.
            case echo
        }

        /// How the end of the body is told.
        public enum Framing: Sendable, Hashable {
            /// By length where it is known, chunked otherwise (until close for HTTP/1.0).
            case automatic
            /// In chunks.
            case chunked
            /// By the end of the connection.
            case untilClose
            /// Nothing is added to the head or the body.
            case asIs
            /// There is no head: the body's chunks are all that is sent.
            case raw
        }

        /// A 1xx answer.
        public struct Interim: Sendable {
            /// The status code, 100 to 199.
            public var status: Int
            /// Its fields.
            public var headers: HTTPHeaders
            /// How long the server waits after it.
            public var pause: Duration

            /// Creates an interim answer.
            public init(status: Int, headers: HTTPHeaders = [:], pause: Duration = .zero) {
                self.status = status
                self.headers = headers
                self.pause = pause
            }
        }
    }

    /// What the server does about `Expect: 100-continue`.
    public enum Expectation: Sendable, Hashable {
        /// It answers 100 and reads the body.
        case answer
        /// It says nothing and waits for the body.
        case ignore
        /// It answers 417 at once and ends the connection.
        case refuse
    }
}
