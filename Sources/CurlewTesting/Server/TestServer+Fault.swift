public import Foundation

extension TestServer {
    /// Something that goes wrong at one point of an exchange.
    public struct Fault: Sendable {
        /// Where in the exchange.
        public var point: Point
        /// What happens there.
        public var action: Action

        /// Creates a fault.
        public init(_ action: Action, at point: Point) {
            self.action = action
            self.point = point
        }

        /// Where in the exchange it happens.
        public enum Point: Sendable, Hashable {
            /// Before a byte of the request is read. A response that was chosen by path is known only when
            /// the head has been read: there it happens before the body is read.
            case beforeReading
            /// When that many bytes of the request's body have been read.
            case readingBody(after: Int64 = 0)
            /// When the request has been read, before the first byte of the answer.
            case beforeHead
            /// When that many bytes of the head have been sent.
            case inHead(after: Int)
            /// When that many bytes of the response's body have been sent (0: right after the head).
            case inBody(after: Int64)
            /// When everything has been sent.
            case atEnd
        }

        /// What happens.
        public enum Action: Sendable {
            /// The connection ends with FIN.
            case close
            /// The connection ends with RST.
            case reset
            /// The server's direction ends with FIN; it goes on reading, and throws away what comes.
            case halfClose
            /// Nothing happens for so long.
            case delay(Duration)
            /// Nothing happens until the gate opens; nil: until the peer leaves or the server stops.
            case stall(until: Gate? = nil)
            /// From here on the server sends that many bytes at a time, with a pause between.
            case dribble(bytes: Int, every: Duration)
            /// From here on the server reads that many bytes at a time, with a pause between.
            case dribbleReading(bytes: Int, every: Duration)
            /// These bytes are put onto the wire, whatever the framing.
            case garbage(Data)
        }
    }
}

extension TestServer.Fault.Action {
    /// Eight bytes that no HTTP parser takes for a head, a chunk or a content coding.
    public static let garbage = Self.garbage(Data([0x00, 0xFF, 0x0A, 0x0D, 0x7F, 0x80, 0x0D, 0x0A]))
}
