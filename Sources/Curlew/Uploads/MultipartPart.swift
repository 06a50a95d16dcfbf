internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// One part of a form.
struct MultipartPart: Sendable {
    enum Content: Sendable {
        case data(Data)
        case file(URL)
        case stream(SharedInputStream)
    }

    let headers: HTTPHeaders
    let content: Content
    /// As declared: what turns out longer is cut, what turns out shorter is an error.
    let length: UInt64

    var isReplayable: Bool {
        switch content {
        case .data, .file: true
        case .stream: false
        }
    }
}

/// An input stream of a form, which the first reader takes.
// SAFETY: `stream` leaves under the lock, once; its taker is the only one that has it.
final class SharedInputStream: @unchecked Sendable {
    private let fence = Lock(false)
    private var stream: InputStream?

    init(_ stream: InputStream) { self.stream = stream }

    func take() -> InputStream? {
        fence.withLock { _ in
            // SAFETY: handed over: this object has let go of it.
            nonisolated(unsafe) let taken = stream
            stream = nil
            return taken
        }
    }
}
