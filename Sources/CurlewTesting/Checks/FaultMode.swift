internal import Foundation

/// What `scripts/fault-modes` does to the sockets of this process.
package enum FaultMode {
    package static let name = ProcessInfo.processInfo.environment["CURLEW_FAULT_MODE"]
    /// Whether a few KiB fill a connection, so that a test must not expect more to be on its way.
    package static let hasTinyBuffers = name == "tiny-buffers" || name == "short-writes"
}
