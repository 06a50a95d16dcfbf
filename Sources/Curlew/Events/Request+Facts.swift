internal import CurlewLocks
package import Foundation

// What the notifications of CurlewAlamofire tell beside what everybody may ask a request.
extension Request {
    /// Whether response handlers were added.
    package var hasResponseHandlers: Bool { record.withLock { !$0.handlers.isEmpty } }

    /// Where the body is, if it is in a file.
    package var bodyFileURL: URL? { record.withLock { $0.transfer.body }.fileURL }
}
