public import Foundation

/// The source of a request's body, which also determines whether the body can be sent again.
public enum BodySource: Sendable {
    /// No body.
    case none
    /// Bytes in memory.
    case data(Data)
    /// A file. `range` counts bytes from the start of the file; `nil` is the whole file, with the length that it has
    /// when the attempt starts.
    case file(URL, range: Range<Int64>? = nil)
    /// Bytes that are read one buffer at a time. If `length` is `nil`, it is unknown, and HTTP/1.1 sends the body
    /// chunked.
    case stream(any BodyStream, length: Int64? = nil)

    /// Whether a retry, a redirect or an authentication round can send the body again.
    package var isReplayable: Bool {
        switch self {
        case .none, .data, .file: true
        case .stream(let stream, _): stream.isReplayable
        }
    }
}

/// A body that is read as fast as the peer accepts it.
///
/// The engine calls `read` and `rewind` one at a time in turns of its loop, so neither may block. A source that has no
/// bytes yet returns `.pending`, and calls the waker from any thread when it has some.
public protocol BodyStream: AnyObject, Sendable {
    /// Whether `rewind` can succeed.
    var isReplayable: Bool { get }

    /// Called before the first `read` of every attempt. The waker resumes reading after `.pending`.
    func open(waker: any BodyWaker)

    /// Copies bytes to the start of `buffer`, which is never empty.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead

    /// Returns to the first byte; false if that is impossible.
    func rewind() -> Bool

    /// Called when the attempt has ended. Nothing is read until the next `open`.
    func close()
}

/// The result of one `read` of a body.
public enum BodyRead: Sendable {
    /// The number of bytes that were copied, at least one.
    case bytes(Int)
    /// There are no bytes yet; the waker will be called.
    case pending
    /// The body is complete.
    case end
    /// The source failed, which fails the request.
    case failed(CurlewError)
}

/// Resumes a transfer whose body returned `.pending`. May be called from any thread, any number of times.
public protocol BodyWaker: Sendable {
    /// Announces that the body may have bytes again.
    func wake()
}
