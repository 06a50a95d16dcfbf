internal import CCurl

/// The reasons why a transfer is paused, and the pause that libcurl applies.
struct TransferPauses {
    /// Set by `TransferControl.suspend`.
    var isSuspended = false
    /// The sink answered `.pause`.
    var sinkPaused = false
    /// The body's source returned `.pending`.
    var sourcePending = false
    /// The CURLPAUSE_* bits in force.
    var applied: Int32 = 0

    var holdsReceiving: Bool { isSuspended || sinkPaused }
    var holdsSending: Bool { isSuspended || sourcePending }
    /// Whether Curlew itself holds the transfer. The queue, idle and first-byte timeouts do not run meanwhile.
    var isHeld: Bool { isSuspended || sinkPaused || sourcePending }

    func wanted(isUploading: Bool, waitsForReader: Bool) -> Int32 {
        (holdsReceiving ? CURLPAUSE_RECV : 0) | (isUploading && (holdsSending || waitsForReader) ? CURLPAUSE_SEND : 0)
    }
}
