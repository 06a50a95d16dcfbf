internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// A part of a form.
struct MultipartPart: Sendable {
    enum Content: Sendable {
        case data(Data)
        case file(URL)
        case stream(SharedInputStream)
    }

    let headers: HTTPHeaders
    let content: Content
    /// The declared length. Longer contents are cut; shorter contents are an error.
    let length: UInt64

    var isReplayable: Bool {
        switch content {
        case .data, .file: true
        case .stream: false
        }
    }
}

/// An input stream of a form. The first reader takes it.
// SAFETY: `stream` is taken under the lock, once; after that only the taker has it.
final class SharedInputStream: @unchecked Sendable {
    private let fence = Lock(false)
    private var stream: InputStream?

    init(_ stream: InputStream) { self.stream = stream }

    func take() -> InputStream? {
        fence.withLock { _ in
            // SAFETY: this object drops its reference in the next line, so only the caller has the stream.
            nonisolated(unsafe) let taken = stream
            stream = nil
            return taken
        }
    }
}
