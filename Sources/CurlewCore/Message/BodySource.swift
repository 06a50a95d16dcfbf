public import Foundation

/// Where the bytes of a request's body come from. It says whether it can be sent a second time.
public enum BodySource: Sendable {
    /// No body.
    case none
    /// Bytes in memory.
    case data(Data)
    /// `range` counts bytes from the start of the file; nil is the whole file as long as it is when the
    /// attempt starts.
    case file(URL, range: Range<Int64>? = nil)
    /// Bytes pulled one buffer at a time. `length` nil means unknown: chunked on HTTP/1.1.
    case stream(any BodyStream, length: Int64? = nil)

    /// Whether a retry, a redirect or an authentication round may send it again.
    public var isReplayable: Bool {
        switch self {
        case .none, .data, .file: true
        case .stream(let stream, _): stream.isReplayable
        }
    }
}

/// A body that is pulled as fast as the peer takes it.
///
/// The engine calls `read` and `rewind` one at a time, in turns of its loop: neither may block. A source
/// that has nothing yet answers `.pending` and calls the waker, from any thread, when it has more.
public protocol BodyStream: AnyObject, Sendable {
    /// Whether `rewind` can work.
    var isReplayable: Bool { get }

    /// Called before the first `read` of every attempt. The waker resumes a source that was `.pending`.
    func open(waker: any BodyWaker)

    /// Fills the front of `buffer`, which is not empty.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead

    /// Back to the first byte, or false where that is impossible.
    func rewind() -> Bool

    /// The attempt is over: nothing is read any more until the next `open`.
    func close()
}

/// What one `read` of a body gave.
public enum BodyRead: Sendable {
    /// That many bytes, at least one.
    case bytes(Int)
    /// Nothing yet: the waker tells when.
    case pending
    /// There is nothing more.
    case end
    /// The source failed, and with it the request.
    case failed(CurlewError)
}

/// Wakes a transfer whose body was `.pending`. Callable from any thread, any number of times.
public protocol BodyWaker: Sendable {
    /// Says that there may be bytes again.
    func wake()
}
