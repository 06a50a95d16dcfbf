package import Foundation

/// Receives one exchange. Called in turns of the transport's loop: on its own thread or, at the start, on the
/// caller's; one call at a time, never after `perform` has returned. It must not block, and must not call back
/// into the transport but through the control it was given.
public protocol TransferSink: AnyObject, Sendable {
    /// First call. The control may be kept and used from any thread until `perform` returns; later it does nothing.
    func willStart(_ control: any TransferControl)
    /// A 1xx response other than 101.
    func didReceive(informational head: ResponseHead)
    /// The response's head. `.pause` holds the body back until `resumeReceiving`.
    func didReceive(head: ResponseHead) -> Disposition
    /// Decoded body bytes, valid during the call only. After `.pause` the same bytes come again.
    func didReceive(body: UnsafeRawBufferPointer) -> Disposition
    /// Body bytes handed to libcurl so far. A body sent again (authentication round) starts over.
    func didSend(bodyBytes: Int64, of expected: Int64?)
}

extension TransferSink {
    public func willStart(_ control: any TransferControl) {}
    public func didReceive(informational head: ResponseHead) {}
    public func didReceive(head: ResponseHead) -> Disposition { .proceed }
    public func didSend(bodyBytes: Int64, of expected: Int64?) {}
}

/// A sink that can keep a body as it is: one that its sender has as a value, such as a stored one, comes without a copy.
package protocol KeepingSink: TransferSink {
    /// The same as `didReceive(body:)` with the bytes of `data`, which may be kept.
    func didReceive(data: Data) -> Disposition
}

/// A sink's answer.
public enum Disposition: Sendable {
    /// Goes on.
    case proceed
    /// Take nothing more until `TransferControl.resumeReceiving()`.
    case pause
    /// End the exchange with this error.
    case abort(CurlewError)
}

/// The way back from a sink's owner to its running exchange. Every call only enqueues.
public protocol TransferControl: AnyObject, Sendable {
    /// Ends the pause that a sink's `.pause` began.
    func resumeReceiving()
    /// Holds both directions, whatever the sink wants (`Request.suspend()`).
    func suspend()
    /// Ends `suspend`.
    func resume()
    /// Ends the exchange with `error`.
    func cancel(with error: CurlewError)
}
