internal import CurlewLocks
package import Foundation

// What the notifications of CurlewAlamofire tell in addition to a request's public properties.
extension Request {
    /// Whether response handlers were added.
    package var hasResponseHandlers: Bool { record.withLock { !$0.handlers.isEmpty } }

    /// Where the body is, if it is in a file.
    package var bodyFileURL: URL? { record.withLock { $0.transfer.body }.fileURL }
}
