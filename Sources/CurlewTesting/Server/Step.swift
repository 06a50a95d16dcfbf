internal import Foundation

/// A step of a connection. Every exchange is a list of steps; faults are steps in that list.
enum Step {
    /// Read a request's head, then choose the response.
    case readHead
    /// Read the body up to this offset, or to its end.
    case readBody(upTo: Int64?)
    /// Choose the response: a scripted one, or the route's.
    case answer
    case send([UInt8])
    /// Continue an unfinished `send`.
    case flush
    /// Send the body up to this offset, or to its end.
    case sendBody(upTo: Int64?)
    /// Send the last chunk and the trailers, if the body is chunked.
    case sendBodyEnd
    /// Start or continue an open WebSocket.
    case converse(AgreedConversation)
    /// Serve HTTP/2 streams, from the preface to the end of the connection.
    case multiplex
    /// Send back the request's body, piece by piece.
    case echoBody
    case wait(Duration)
    case waitFor(Gate)
    /// Wait until the peer leaves or the server stops.
    case stall
    case paceSending(Pace)
    case paceReading(Pace)
    /// End the server's direction.
    case halfClose
    /// Discard input until the peer ends its direction or the time has passed.
    case drain(Duration?)
    case close
    case reset
    /// End the exchange and prepare for the next request.
    case endExchange
}

/// A transfer rate: a number of bytes, then a pause.
struct Pace: Equatable {
    var bytes: Int
    var every: Duration

    init(bytes: Int, every: Duration) {
        self.bytes = max(1, bytes)
        self.every = every
    }

    /// At most a hundred portions a second; fewer if a portion would be less than one byte.
    init(bytesPerSecond rate: Int) {
        let portions = min(100, max(1, rate))
        self.init(bytes: rate / portions, every: .seconds(1) / portions)
    }
}
