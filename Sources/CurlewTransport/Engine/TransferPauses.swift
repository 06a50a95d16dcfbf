internal import CCurl

/// Why a transfer is paused, and what libcurl was told about it.
struct TransferPauses {
    /// `TransferControl.suspend`.
    var isSuspended = false
    /// The sink answered `.pause`.
    var sinkPaused = false
    /// The body's source had nothing.
    var sourcePending = false
    /// The CURLPAUSE_* bits in force.
    var applied: Int32 = 0

    var holdsReceiving: Bool { isSuspended || sinkPaused }
    var holdsSending: Bool { isSuspended || sourcePending }
    /// Curlew's own doing: idle and first-byte clocks stand still.
    var isHeld: Bool { isSuspended || sinkPaused || sourcePending }

    func wanted(isUploading: Bool, waitsForReader: Bool) -> Int32 {
        (holdsReceiving ? CURLPAUSE_RECV : 0) | (isUploading && (holdsSending || waitsForReader) ? CURLPAUSE_SEND : 0)
    }
}
