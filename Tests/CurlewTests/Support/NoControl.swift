import CurlewCore

/// The control of a transfer that cannot be controlled.
final class NoControl: TransferControl {
    func resumeReceiving() {}
    func suspend() {}
    func resume() {}
    func cancel(with error: CurlewError) {}
}
