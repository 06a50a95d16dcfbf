internal import Curlew
internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// One download, from its request to its file.
struct Download: Sendable {
    enum Result: Sendable {
        case saved(path: String, size: Int64, checksum: String?)
        /// `kept` tells if the download can be resumed. If it cannot, `received` tells if anything had arrived.
        case interrupted(path: String, kept: Bool, received: Int64)
        case failed(CurlewError, path: String, kept: Bool)
        case notBegun(UsageError)
    }

    let preparation: Preparation
    let session: Session
    let job: DownloadJob
    let names: NameReservations
    let context: ToolContext

    private var settings: DownloadSettings { preparation.invocation.download ?? DownloadSettings() }

    func run() async -> Result {
        let request: DownloadRequest
        do {
            request = try await makeRequest()
        } catch {
            return await notBegun(error)
        }
        guard await job.begin(request) else { return .interrupted(path: await job.path, kept: false, received: 0) }
        do {
            let file = try await request.file()
            if let head = request.head { show(head, request.metrics?.cacheStatus) }
            await job.named(file.path)
            return await saved(file.path)
        } catch {
            return await failed(error, request: request)
        }
    }

    private func makeRequest() async throws -> DownloadRequest {
        let (job, names) = (job, names)
        let wanted = preparation.invocation.output.file.map { InputFile.expanded($0) }
        let folder = URL(filePath: FileManager.default.currentDirectoryPath, directoryHint: .isDirectory)
        let suggest = DownloadRequest.suggestedDownloadDestination(in: folder)
        let destination: DownloadRequest.Destination = { temporary, response in
            if let wanted { return (URL(filePath: wanted), [.removePreviousFile]) }
            let suggested = suggest(temporary, response).destinationURL.lastPathComponent
            let name = names.reserve(suggested, for: job) {
                InputFile.exists($0) || InputFile.exists(DownloadName.resumeFile(for: $0))
            }
            Task { await job.named(name) }
            return (folder.appending(path: name, directoryHint: .notDirectory), [])
        }
        showRequest()
        let request: DownloadRequest
        if let data = try await leftover(at: wanted ?? DownloadName.expected(for: preparation.plan.url)) {
            let final = await job.path
            let fields = PlannedFields(plan: preparation.plan)
            request = session.download(
                resumingWith: data,
                interceptor: Interceptor(adapters: [fields], interceptors: interceptor.map { [$0] } ?? [])
            ) { _, _ in
                (URL(filePath: final), [.removePreviousFile])
            }
        } else {
            request = session.download(try preparation.plan.urlRequest(), interceptor: interceptor, to: destination)
        }
        let retry = RetrySettings(preparation)
        request.validate { [weak request] _, response, _ in retry.check(response, retryCount: request?.retryCount ?? 0)
        }
        request.validate(statusCode: 200..<300)
        if let checksum = settings.checksum {
            request.checksum(checksum.algorithm.forLibrary, checksum.hex)
        }
        request.cachePolicy(preparation.invocation.cache.policy.forLibrary)
        if settings.segments > 1 { request.segments(settings.segments) }
        preparation.authenticate(request)
        return request
    }

    /// Returns the data with which `--continue` resumes, and gives the job its path.
    private func leftover(at path: String) async throws -> Data? {
        guard settings.continues else { return nil }
        await job.named(path)
        return try await Continuation(preparation: preparation, session: session, job: job, path: path).resumeData()
    }

    // MARK: Heads for -v

    /// Prints to standard error, because standard output may be used for something else.
    private var heads: HeadPrinter {
        HeadPrinter(palette: context.errorPalette, isTerminal: context.terminal.isError)
    }

    private func showRequest() {
        guard preparation.invocation.output.parts?.contains(.requestHead) == true else { return }
        let plan = preparation.plan
        let length = (try? plan.bodyLength()) ?? nil
        var head = plan.head(bodyLength: length, acceptEncoding: nil)
        head.show(preparation.invocation, isCompressed: preparation.compressesBody)
        try? context.errors.write(heads.request(head) + "\n")
    }

    private func show(_ head: ResponseHead, _ cache: CacheStatus?) {
        guard preparation.invocation.output.parts?.contains(.responseHead) == true else { return }
        try? context.errors.write(heads.response(head) + "\n")
        if let cache { context.note("Cache-Status: \(cache)") }
    }

    private var interceptor: (any RequestInterceptor)? {
        preparation.interceptor { [job, context] note in
            // A line between the progress bars would break their frame.
            if context.terminal.isError {
                await job.waits(note.text, until: Date(timeIntervalSinceNow: note.delay))
            } else {
                context.note(
                    "\(DownloadName.relative(await job.path, to: FileManager.default.currentDirectoryPath)): \(note.text)"
                )
            }
        }
    }

    private func saved(_ path: String) async -> Result {
        try? FileManager.default.removeItem(atPath: DownloadName.resumeFile(for: path))
        await job.end(.done)
        let shown = DownloadName.relative(path, to: FileManager.default.currentDirectoryPath)
        return .saved(path: shown, size: InputFile.length(path) ?? 0, checksum: settings.checksum?.algorithm.rawValue)
    }

    /// Ends a download that was never requested: no bytes were received, and existing files are not changed.
    private func notBegun(_ error: any Error) async -> Result {
        switch ToolFailure(error) {
        case .request(let error), .webSocket(let error):
            return await ended(with: error, kept: false)
        case .interrupted:
            return await ended(with: CurlewError(.cancelled, phase: .lifecycle), kept: false)
        case .usage(let error):
            await job.end(.failed("failed"))
            return .notBegun(error)
        case .output(let failure):
            await job.end(.failed("failed"))
            return .notBegun(UsageError(failure.text))
        }
    }

    private func failed(_ error: CurlewError, request: DownloadRequest) async -> Result {
        var kept = false
        let resumePath = DownloadName.resumeFile(for: await job.path)
        if let data = request.resumeData {
            kept = (try? PrivateFile.replace(resumePath, with: Array(data))) != nil
        } else if settings.continues, let bytes = try? InputFile.read(resumePath),
            let data = try? ResumeData(Data(bytes)), !InputFile.exists(data.file)
        {
            // The resume file names a partial file that is gone, for example after a checksum mismatch.
            try? FileManager.default.removeItem(atPath: resumePath)
        }
        return await ended(with: error, kept: kept)
    }

    private func ended(with error: CurlewError, kept: Bool) async -> Result {
        let path = await job.path
        // If the continuation failed before it began, the earlier resume file is still there.
        let kept = kept || (settings.continues && InputFile.exists(DownloadName.resumeFile(for: path)))
        if error.isCancellation {
            await job.end(.failed("interrupted"))
            let received = await job.snapshot(at: Date()).completed
            let isThere = kept || (settings.continues && InputFile.exists(path))
            return .interrupted(path: path, kept: isThere, received: received)
        }
        // The reason is reported once, when all downloads have ended.
        await job.end(.failed("failed"))
        return .failed(error, path: path, kept: kept)
    }
}

extension ChecksumSetting.Algorithm {
    var forLibrary: ChecksumAlgorithm {
        switch self {
        case .md5: .md5
        case .sha1: .sha1
        case .sha256: .sha256
        case .sha384: .sha384
        case .sha512: .sha512
        }
    }
}

/// The names of downloaded files and of their resume files.
enum DownloadName {
    /// Returns the path of the file from which `--continue` resumes.
    static func resumeFile(for path: String) -> String { path + ".curlew-resume" }

    /// Returns the first free name of `name`, `name-1`, `name-2`, …, with the number before the extension. If 9,999
    /// numbers are taken, returns `name`.
    static func free(_ name: String, isTaken: (String) -> Bool) -> String {
        guard isTaken(name) else { return name }
        let start = name.lastIndex(of: "/").map { name.index(after: $0) } ?? name.startIndex
        var dot = name[start...].lastIndex(of: ".") ?? name.endIndex
        if dot == start { dot = name.endIndex }
        var number = 1
        while number < 10_000 {
            let candidate = "\(name[..<dot])-\(number)\(name[dot...])"
            if !isTaken(candidate) { return candidate }
            number += 1
        }
        return name
    }

    /// Returns the path relative to `folder`, or unchanged if it is elsewhere.
    static func relative(_ path: String, to folder: String) -> String {
        let prefix = folder.hasSuffix("/") ? folder : folder + "/"
        return path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : path
    }

    /// Returns the name that the URL suggests. The server may suggest another one later.
    static func expected(for url: String) -> String {
        let path = URLParts(url).target.prefix { $0 != "?" }
        let last = path.split(separator: "/").last.map(String.init) ?? ""
        // The library sanitises the name of a download in this way too.
        return SafeFilename.make(last.removingPercentEncoding ?? last) ?? "download"
    }
}

/// The names chosen by concurrent downloads. Their files need not exist yet.
final class NameReservations: Sendable {
    private let owners = Lock<[String: ObjectIdentifier]>([:])

    /// Reserves the first free name derived from `name` for this job. A job that asks again, for another attempt, gets
    /// its name again.
    func reserve(_ name: String, for job: DownloadJob, isTaken: (String) -> Bool) -> String {
        let owner = ObjectIdentifier(job)
        return owners.withLock { owners in
            let free = DownloadName.free(name) { name in
                isTaken(name) || owners[name].map { $0 != owner } ?? false
            }
            owners[free] = owner
            return free
        }
    }
}
