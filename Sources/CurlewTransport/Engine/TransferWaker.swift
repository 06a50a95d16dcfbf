internal import CurlewCore
internal import CurlewLocks

/// Wakes a transfer for the source of its body. A source may keep the waker forever. Closing the body therefore
/// releases the transfer, which owns the source.
final class TransferWaker: BodyWaker {
    private let transfer: Lock<ActiveTransfer?>

    init(_ transfer: ActiveTransfer) { self.transfer = Lock(transfer) }

    func wake() { transfer.withLock { $0 }?.send(.wakeBody) }

    func letGo() {
        // Released outside of the lock: it may be the last reference to the source, whose `deinit` is user code.
        _ = transfer.withLock { transfer in exchange(&transfer, with: nil) }
    }
}
