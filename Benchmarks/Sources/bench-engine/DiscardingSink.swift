internal import CurlewCore

/// Counts a body and keeps nothing of it.
// SAFETY: the transport alone touches `bytes` until `perform` returns, its caller alone afterwards.
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
