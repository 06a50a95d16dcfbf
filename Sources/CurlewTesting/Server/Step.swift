internal import Foundation

/// What a connection does next. Every exchange is a list of these; a fault is a step among the others.
enum Step {
    /// Read up to the end of a request's head, then choose who answers.
    case readHead
    /// Read the body until so much of it has come, or to its end.
    case readBody(upTo: Int64?)
    /// Ask the route.
    case answer
    case send([UInt8])
    /// Go on with what `send` has begun.
    case flush
    /// Send the body until so much of it has gone, or to its end.
    case sendBody(upTo: Int64?)
    /// Send the last chunk and the trailers, where the framing has them.
    case sendBodyEnd
    /// Begin an open WebSocket, or go on with it.
    case converse(AgreedConversation)
    /// Serve the streams of HTTP/2, from the preface to the connection's end.
    case multiplex
    /// Every piece of the request's body, as it arrives.
    case echoBody
    case wait(Duration)
    case waitFor(Gate)
    /// Until the peer leaves or the server stops.
    case stall
    case paceSending(Pace)
    case paceReading(Pace)
    /// End our direction.
    case halfClose
    /// Throw away what still comes, until the peer ends its direction or the time is over.
    case drain(Duration?)
    case close
    case reset
    /// The exchange is over: the next request may be read.
    case endExchange
}

/// That many bytes, then a pause.
struct Pace: Equatable {
    var bytes: Int
    var every: Duration

    init(bytes: Int, every: Duration) {
        self.bytes = max(1, bytes)
        self.every = every
    }

    /// A hundred portions a second, or fewer where that would be less than a byte each.
    init(bytesPerSecond rate: Int) {
        let portions = min(100, max(1, rate))
        self.init(bytes: rate / portions, every: .seconds(1) / portions)
    }
}
