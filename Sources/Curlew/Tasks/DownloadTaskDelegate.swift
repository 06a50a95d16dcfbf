internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Writes a response's body into a file beside its destination, and moves it there when it was accepted.
///
/// The destination is user code, and opening a file blocks: between head and body the exchange is paused
/// while a file lane does both.
final class DownloadTaskDelegate: TaskDelegate, @unchecked Sendable {
    // SAFETY: as for `TaskDelegate`: one owner at a time. What the file lane makes goes through `opened`.

    private let destination: DownloadRequest.Destination?
    private let lane = FileLane.next()
    private let opened = Lock<Opened>(.waiting)
    private var offset: Int64 = 0
    private var hasBegun = false

    private enum Opened {
        case waiting
        case file(DownloadFile, Target?)
        case failed(CurlewError)
    }

    private struct Target {
        let url: URL
        let options: DownloadRequest.Options
    }

    init(
        request: DownloadRequest,
        task: TaskIdentifier,
        url: URL,
        events: EventSink?,
        destination: DownloadRequest.Destination?
    ) {
        self.destination = destination
        super.init(request: request, task: task, url: url, events: events)
    }

    override func begin(_ head: ResponseHead) -> Disposition {
        hasBegun = true
        guard let control = request.record.withLock({ $0.control }) else { return .proceed }
        let response = request.record.withLock { $0.response }
        lane.enqueue { [self] in
            open(for: response)
            control.resumeReceiving()
        }
        return .pause
    }

    /// On the file lane.
    private func open(for response: LazyResponse?) {
        do throws(CurlewError) {
            let proposed = URL(filePath: TemporaryName.make(in: DestinationDirectory.temporary))
            var target: Target?
            if let destination, let lifted = response?.value {
                let (url, options) = destination(proposed, lifted)
                // The temporary URL itself means: leave the file where it is.
                if url != proposed { target = Target(url: url, options: options) }
            }
            if let target, target.options.contains(.createIntermediateDirectories) {
                // Made with the file, if it is accepted: until then it lies elsewhere.
            }
            let directory = DestinationDirectory.forTemporaryFile(beside: target?.url)
            let file = try DownloadFile.create(in: directory)
            let chosen = target
            opened.withLock { $0 = .file(file, chosen) }
        } catch {
            opened.withLock { $0 = .failed(error) }
        }
    }

    override func take(_ bytes: UnsafeRawBufferPointer) -> Disposition {
        let opened = opened.withLock { $0 }
        switch opened {
        case .waiting: return .pause
        case .failed(let error): return .abort(error)
        case .file(let file, _):
            do throws(CurlewError) {
                try file.write(bytes, at: offset)
                offset += Int64(bytes.count)
                return .proceed
            } catch {
                return .abort(error)
            }
        }
    }

    override func emit(_ bytes: UnsafeRawBufferPointer, to events: EventSink) {
        let (task, reference, count, total, expected) =
            (task, request.sessionReference, Int64(bytes.count), offset, expected)
        events.emitExchange {
            $0.urlSession(
                reference,
                downloadTask: task,
                didWriteData: count,
                totalBytesWritten: total,
                totalBytesExpectedToWrite: expected
            )
        }
    }

    override func finish(_ error: CurlewError?) async -> Result<ReceivedBody, CurlewError> {
        // Behind the opening, where that is still to come.
        do throws(CurlewError) { try await lane.run { () throws(CurlewError) in } } catch {}
        switch opened.withLock({ $0 }) {
        case .waiting: return error.map { .failure($0) } ?? .success(.none)
        case .failed(let failure): return .failure(error ?? failure)
        case .file(let file, _):
            guard let error else { return .success(.file(file.url)) }
            return .failure(error)
        }
    }

    override func settle(accepted: Bool, body: ReceivedBody) async throws(CurlewError) -> ReceivedBody {
        guard case .file(let file, let target) = opened.withLock({ $0 }) else { return .none }
        let (destination, options) = target.map { ($0.url, $0.options) } ?? (Self.defaultPlace(of: file), [])
        let result: Result<URL, CurlewError>
        do throws(CurlewError) {
            try await lane.run { () throws(CurlewError) in
                guard accepted else { return file.discard() }
                try file.move(to: destination, options: options)
            }
            result = .success(destination)
        } catch {
            result = .failure(error)
        }
        if accepted { emit(result) }
        switch result {
        case .success(let url): return accepted ? .file(url) : .none
        case .failure(let error):
            throw .downloadedFileMoveFailed(error: error, source: file.url, destination: destination)
        }
    }

    /// Without a destination the file stays where files of that kind go, under a name that says whose it is.
    private static func defaultPlace(of file: DownloadFile) -> URL {
        let name = file.url.lastPathComponent.drop { $0 == "." }
        return file.url.deletingLastPathComponent().appending(
            path: "Curlew_" + name,
            directoryHint: .notDirectory
        )
    }

    private func emit(_ result: Result<URL, CurlewError>) {
        guard let events, let request = request as? DownloadRequest else { return }
        let (task, reference) = (task, request.sessionReference)
        events.emit { $0.request(request, didFinishDownloadingUsing: task, with: result) }
        guard case .success(let url) = result else { return }
        events.emitExchange { $0.urlSession(reference, downloadTask: task, didFinishDownloadingTo: url) }
        events.emit { $0.request(request, didCreateDestinationURL: url) }
    }
}
