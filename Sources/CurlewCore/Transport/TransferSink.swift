package import Foundation

/// Receives the events of one exchange.
///
/// The transport calls it in turns of its loop: on its thread or, at the start, on the caller's. Calls never overlap,
/// and none follows the return of `perform`. A sink must not block, and may call the transport only through its
/// control.
public protocol TransferSink: AnyObject, Sendable {
    /// Called first. The control may be kept and used from any thread; after `perform` has returned it does nothing.
    func willStart(_ control: any TransferControl)
    /// Called for a 1xx response other than 101.
    func didReceive(informational head: ResponseHead)
    /// Called with the head of the response. After `.pause`, the body is held back until `resumeReceiving`.
    func didReceive(head: ResponseHead) -> Disposition
    /// Called with decoded bytes of the body, valid only during the call. After `.pause`, the same bytes are delivered
    /// again.
    func didReceive(body: UnsafeRawBufferPointer) -> Disposition
    /// Called with the number of body bytes passed to libcurl so far. The count restarts if the body is sent again, for
    /// instance in an authentication round.
    func didSend(bodyBytes: Int64, of expected: Int64?)
}

extension TransferSink {
    public func willStart(_ control: any TransferControl) {}
    public func didReceive(informational head: ResponseHead) {}
    public func didReceive(head: ResponseHead) -> Disposition { .proceed }
    public func didSend(bodyBytes: Int64, of expected: Int64?) {}
}

/// A sink that can keep the body's data without copying it, if the sender has it as a value, such as a stored body.
package protocol KeepingSink: TransferSink {
    /// Whether the sink keeps the next bytes. Otherwise they are delivered in small pieces, at the sink's speed.
    var keepsData: Bool { get }
    /// Does what `didReceive(body:)` does, with bytes that may be kept.
    func didReceive(data: Data) -> Disposition
}

/// The decision of a sink after a call.
public enum Disposition: Sendable {
    /// Continue.
    case proceed
    /// Deliver nothing more until `TransferControl.resumeReceiving()`.
    case pause
    /// End the exchange with this error.
    case abort(CurlewError)
}

/// Controls a running exchange on behalf of its sink's owner. Every call only enqueues a command.
public protocol TransferControl: AnyObject, Sendable {
    /// Ends the pause that the sink's `.pause` began.
    func resumeReceiving()
    /// Pauses both directions, independently of the sink's pauses (`Request.suspend()`).
    func suspend()
    /// Ends the pause that `suspend` began.
    func resume()
    /// Ends the exchange with `error`.
    func cancel(with error: CurlewError)
}
