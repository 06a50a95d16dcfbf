public import Foundation

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
