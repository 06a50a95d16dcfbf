import CurlewCore
import CurlewLocks
import CurlewTesting

@testable import Curlew

/// A transport between the session and the real one. It counts the steps of every exchange, and causes a fault at one
/// of these steps.
final class SteppingTransport: Transport {
    enum Fault: CaseIterable, Sendable {
        /// The caller cancels the request.
        case cancel
        /// The exchange fails.
        case fail
        /// The receiver accepts no bytes for a moment.
        case pause
        /// Both directions are suspended for a moment.
        case suspend
    }

    private struct State: Sendable {
        var steps = 0
        var cancel: (@Sendable () -> Void)?
    }

    static let failure = CurlewError(.receiveFailed, phase: .receive, reason: "made by the test")

    private let base: any Transport
    private let fault: (kind: Fault, step: Int)?
    private let state = Lock(State())

    init(_ base: any Transport, fault: (kind: Fault, step: Int)? = nil) {
        self.base = base
        self.fault = fault
    }

    /// The number of steps so far.
    var steps: Int { state.withLock { $0.steps } }

    /// Sets the action of a `cancel` fault.
    func onCancel(_ cancel: @escaping @Sendable () -> Void) { state.withLock { $0.cancel = cancel } }

    /// Counts a step. Returns the fault that is due at it; a `cancel` fault has been carried out by then.
    fileprivate func step() -> Fault? {
        let (steps, cancel) = state.withLock { state in
            state.steps += 1
            return (state.steps, state.cancel)
        }
        guard let fault, fault.step == steps else { return nil }
        if fault.kind == .cancel { cancel?() }
        return fault.kind
    }

    func perform(
        _ request: TransferRequest,
        sink: any TransferSink
    ) async throws(CurlewError) -> TransferOutcome {
        if step() == .fail { throw Self.failure }
        let outcome = try await base.perform(request, sink: SteppingSink(sink, self))
        if step() == .fail { throw Self.failure }
        return outcome
    }

    func shutdown() async { await base.shutdown() }
}

private final class SteppingSink: TransferSink {
    private let sink: any TransferSink
    private let transport: SteppingTransport
    private let control = Lock<(any TransferControl)?>(nil)

    init(_ sink: any TransferSink, _ transport: SteppingTransport) {
        self.sink = sink
        self.transport = transport
    }

    func willStart(_ control: any TransferControl) {
        self.control.withLock { $0 = control }
        sink.willStart(control)
        take(transport.step())
    }

    func didReceive(informational head: ResponseHead) {
        take(transport.step())
        sink.didReceive(informational: head)
    }

    func didReceive(head: ResponseHead) -> Disposition {
        answer(transport.step()) ?? sink.didReceive(head: head)
    }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition {
        // After a pause the same bytes are delivered again, which counts as another step.
        answer(transport.step()) ?? sink.didReceive(body: body)
    }

    func didSend(bodyBytes: Int64, of expected: Int64?) {
        take(transport.step())
        sink.didSend(bodyBytes: bodyBytes, of: expected)
    }

    /// Applies a fault in a callback that returns no disposition, by means of the control. The control's calls take
    /// effect in order, after this callback.
    private func take(_ fault: SteppingTransport.Fault?) {
        guard let control = control.withLock({ $0 }) else { return }
        switch fault {
        case .fail: control.cancel(with: SteppingTransport.failure)
        case .pause, .suspend:
            control.suspend()
            control.resume()
        case .cancel, nil: break
        }
    }

    private func answer(_ fault: SteppingTransport.Fault?) -> Disposition? {
        switch fault {
        case .fail: return .abort(SteppingTransport.failure)
        case .cancel, .pause, .suspend, nil:
            take(fault)
            return nil
        }
    }
}
