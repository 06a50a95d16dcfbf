internal import CurlewCore
internal import CurlewLocks

/// What a body's source wakes its transfer by. A source may keep it for ever: it lets go of the transfer, which has the source,
/// when the body is closed.
final class TransferWaker: BodyWaker {
    private let transfer: Lock<ActiveTransfer?>

    init(_ transfer: ActiveTransfer) { self.transfer = Lock(transfer) }

    func wake() { transfer.withLock { $0 }?.send(.wakeBody) }

    func letGo() {
        // Released outside of the lock: it may be the last reference to the source, whose end is foreign code.
        _ = transfer.withLock { transfer in exchange(&transfer, with: nil) }
    }
}
