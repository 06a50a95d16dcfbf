internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Makes the body of every attempt of a request, and removes the files that belong to Curlew.
final class UploadTaskDelegate: Sendable {
    typealias Uploadable = UploadRequest.Uploadable

    /// Makes the body of one attempt.
    let make: @Sendable () throws -> Uploadable
    /// Prepares the next attempt's body. May take long.
    private let prepare: (@Sendable () async -> Void)?
    private let current = Lock<Uploadable?>(nil)

    init(prepare: (@Sendable () async -> Void)? = nil, make: @escaping @Sendable () throws -> Uploadable) {
        self.prepare = prepare
        self.make = make
    }

    /// The body of the last attempt. `nil` before the first one is made.
    var uploadable: Uploadable? { current.withLock { $0 } }

    /// Makes the next attempt's body.
    func makeBody(for request: Request, _ events: EventSink?) async throws(CurlewError) -> BodySource {
        if let prepare { await prepare() }
        do {
            let made = try make()
            let former = current.withLock { exchange(&$0, with: made) }
            // Removed here, because the next body may be written to the same path later. The closure may also return
            // the same file again, which must be kept.
            if let former, !former.isFile(of: made) { former.removeOwnFile() }
            emit(.success(made), for: request, events)
            return made.source
        } catch {
            let failure = ErrorWrapping.uploadable(error)
            emit(.failure(failure), for: request, events)
            throw failure
        }
    }

    /// Replaces a body that can be read only once by another one, which the user has made.
    func replace(by body: BodySource, for request: Request, _ events: EventSink?) {
        let made = Uploadable(body)
        _ = current.withLock { exchange(&$0, with: made) }
        emit(.success(made), for: request, events)
    }

    private func emit(_ result: Result<Uploadable, CurlewError>, for request: Request, _ events: EventSink?) {
        guard let upload = request as? UploadRequest else { return }
        events?.emit { $0.request(upload, didCreateBody: result) }
    }

    func cleanUp() async {
        guard let uploadable, uploadable.hasOwnFile else { return }
        await FileLane.next().carryOut { uploadable.removeOwnFile() }
    }
}

extension UploadRequest.Uploadable {
    fileprivate var hasOwnFile: Bool {
        if case .file(_, shouldRemove: true) = self { true } else { false }
    }

    /// Returns whether both are the same file: the closure that makes bodies may return one file for every attempt.
    fileprivate func isFile(of other: Self) -> Bool {
        guard case .file(let url, _) = self, case .file(let otherURL, _) = other else { return false }
        return url == otherURL || url.resolvingSymlinksInPath().path == otherURL.resolvingSymlinksInPath().path
    }

    /// Removes the file if it belongs to Curlew. Blocks.
    func removeOwnFile() {
        guard case .file(let url, shouldRemove: true) = self else { return }
        try? FileManager.default.removeItem(at: url)
    }
}
