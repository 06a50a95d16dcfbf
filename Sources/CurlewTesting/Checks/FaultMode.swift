internal import Foundation

/// The socket faults that `scripts/fault-modes` injects into this process.
package enum FaultMode {
    package static let name = ProcessInfo.processInfo.environment["CURLEW_FAULT_MODE"]
    /// Whether a few KiB fill a connection's buffers, so that a test must not expect more to be in flight.
    package static let hasTinyBuffers = name == "tiny-buffers" || name == "short-writes"
}
