internal import CurlewCore

/// Counts the bytes of a body, and discards them.
// SAFETY: only the transport uses `bytes` until `perform` returns, and only its caller afterwards.
final class DiscardingSink: TransferSink, @unchecked Sendable {
    private(set) var bytes = 0
    private let countsUploads: Bool

    init(countsUploads: Bool) { self.countsUploads = countsUploads }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition {
        if !countsUploads { bytes += body.count }
        return .proceed
    }

    func didSend(bodyBytes: Int64, of expected: Int64?) {
        if countsUploads { bytes = Int(bodyBytes) }
    }
}
