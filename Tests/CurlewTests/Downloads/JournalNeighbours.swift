import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import FoundationNetworking

@testable import Curlew

/// Continues the unfinished download in another session while a request waits for its retry.
struct DownloadNeighbour: RequestInterceptor {
    enum Ending {
        case never
        /// As soon as the request has started over.
        case afterStartingOver
        /// Before the request ends without a retry.
        case beforeEnd(isCancelled: Bool)
    }

    let service: FileService
    let session: Session
    let destination: DownloadRequest.Destination
    /// The moment at which the other download ends, and keeps its part.
    var ending = Ending.never
    let continued = Lock<DownloadRequest?>(nil)
    let ended = Lock<Task<URL, any Error>?>(nil)

    func retry(_ request: Request, for _: Session, dueTo error: CurlewError) async -> RetryResult {
        guard request.retryCount == 0, let found = await session.unfinishedDownloads().first else {
            return .doNotRetry
        }
        service.change { $0.stall = 100_000 }
        let download = session.download(continuing: found, to: destination)
        let task = Task { try await download.file() }
        for await progress in download.downloadProgress() where progress.completedUnitCount > found.bytesWritten {
            break
        }
        service.change { $0.stall = nil }
        continued.withLock { $0 = download }
        ended.withLock { $0 = task }
        guard case .beforeEnd(let isCancelled) = ending else { return .retry }
        await Self.end(download)
        if isCancelled { request.cancel() }
        return .doNotRetry
    }

    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        guard case .afterStartingOver = ending, urlRequest.value(forHTTPHeaderField: "Range") == nil,
            let download = continued.withLock({ $0 })
        else { return urlRequest }
        await Self.end(download)
        return urlRequest
    }

    private static func end(_ download: DownloadRequest) async {
        download.cancel(producingResumeData: true)
        _ = await download.response()
    }
}

/// Makes the system refuse to open a file for writing with EAGAIN, as it refuses with EMFILE in a process that has
/// too many open files. The file itself stays intact.
final class FileLease: Sendable {
    private let descriptor: Int32

    init(on path: String) throws {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(errno) }
        // The system tells the holder of a lease of each attempt, by default with a signal that ends the process.
        guard fcntl(descriptor, Self.setSignal, SIGURG) == 0 else { throw Self.failure(errno) }
        // A child of another test, between its fork and its exec, may still have the file open for writing.
        let deadline = ContinuousClock.now + .seconds(5)
        while fcntl(descriptor, Self.setLease, Int32(F_RDLCK)) != 0 {
            let number = errno
            guard number == EAGAIN, .now < deadline else { throw Self.failure(number) }
            usleep(2000)
        }
    }

    /// Whether the file system has leases. NFS and FUSE, for example, may have none.
    static let arePossible: Bool = {
        guard let scratch = try? ScratchDirectory() else { return false }
        let path = scratch.file("leased").plainPath
        guard FileManager.default.createFile(atPath: path, contents: nil), let lease = try? FileLease(on: path)
        else { return false }
        return withExtendedLifetime((scratch, lease)) {
            let descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { return errno == EAGAIN }
            close(descriptor)
            return false
        }
    }()

    private static func failure(_ number: Int32) -> POSIXError {
        POSIXError(POSIXErrorCode(rawValue: number) ?? .EINVAL)
    }

    // `F_SETSIG` and `F_SETLEASE`, which Swift does not import.
    private static let setSignal: Int32 = 10
    private static let setLease: Int32 = 1024

    deinit {
        // A child of another test, between its fork and its exec, would otherwise keep the lease.
        _ = fcntl(descriptor, Self.setLease, Int32(F_UNLCK))
        close(descriptor)
    }
}
