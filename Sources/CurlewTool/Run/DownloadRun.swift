internal import Curlew
internal import Foundation

/// Runs `--download`: one or more files concurrently, each with a progress bar.
struct DownloadRun: Sendable {
    let invocation: Invocation
    let context: ToolContext

    func run() async throws -> ExitStatus {
        var context = context
        context.quietness = invocation.output.quietness
        if let file = invocation.output.file { try OutputDestination.expectDownload(to: file) }
        var downloads: [Download] = []
        var shared: Session?
        var stored: [String: Download] = [:]
        let names = NameReservations()
        let debugLog = DebugLog(invocation, context: context)
        let cache = try ToolCache.forRequests(invocation.cache, context: context)
        let files = ItemFiles()
        for url in invocation.urls {
            var preparation = try Preparation(invocation, url: url, files: files, context: context)
            preparation.acceptOnlyPlainBytes()
            try preparation.refuseOtherContinuations()
            try preparation.gatherBody()
            // Downloads share one session. With `--session`, only those with the same session file do, because each
            // file has its own cookies. A read-only session is not shared.
            let path = preparation.sessionFile?.path
            var configuration = try SessionConfiguration(preparation)
            configuration.cache = cache
            let session =
                shared ?? path.flatMap { stored[$0]?.session }
                ?? Session(
                    configuration: configuration,
                    redirectHandler: HopPrinter(follows: true, printer: nil),
                    eventMonitors: debugLog.monitors
                )
            if preparation.jar == nil { shared = session }
            let name =
                invocation.output.file.map { InputFile.expanded($0) }
                ?? DownloadName.expected(for: preparation.plan.url)
            let job = DownloadJob(plan: preparation.plan, path: name)
            let download = Download(
                preparation: preparation, session: session, job: job, names: names, context: context)
            downloads.append(download)
            if let path, stored[path] == nil { stored[path] = download }
        }
        let jobs = downloads.map(\.job)
        let interruption = await Interruption()
        defer { withExtendedLifetime(interruption) {} }
        interruption.answer { Task { for job in jobs { await job.interrupt() } } }
        let display = Task { [context] in await DownloadDisplay(jobs: jobs, context: context).run() }
        let results = await Self.perform(
            downloads, atOnce: invocation.concurrency ?? Invocation.downloadsAtOnce)
        display.cancel()
        await display.value
        await debugLog.flush(shared)
        let status = await report(results, context: context)
        // A response may have set cookies even if its download failed.
        for download in stored.values { try SessionUpdate(preparation: download.preparation).store() }
        return status
    }

    private static func perform(_ downloads: [Download], atOnce: Int) async -> [Download.Result] {
        await withTaskGroup(of: (Int, Download.Result).self) { group in
            var results: [Int: Download.Result] = [:]
            for (index, download) in downloads.enumerated() {
                if index >= atOnce, let (done, result) = await group.next() { results[done] = result }
                group.addTask { (index, await download.run()) }
            }
            for await (index, result) in group { results[index] = result }
            return downloads.indices.compactMap { results[$0] }
        }
    }

    /// Reports every result. The exit status is that of the first download that did not succeed.
    private func report(_ results: [Download.Result], context: ToolContext) async -> ExitStatus {
        var status = ExitStatus.success
        for result in results {
            let one: ExitStatus
            switch result {
            case .saved(let path, let size, let checksum):
                context.note("saved \(path) (\(Amount.bytes(size))\(checksum.map { ", \($0) matches" } ?? ""))")
                one = .success
            case .interrupted(let path, let kept, let received):
                let isEmpty = !kept && received == 0
                context.note(
                    isEmpty
                        ? "\(path): interrupted before any data arrived"
                        : resumeText(path, kept: kept, reason: "interrupted"))
                one = .interrupted
            case .failed(let error, let path, let kept):
                if let code = error.responseCode, !(200..<300 ~= code) {
                    context.report(UsageError("\(path): the server answered \(code)"))
                    one =
                        ExitStatus.checking(code, follows: false) == .success
                        ? .failure : ExitStatus.checking(code, follows: false)
                } else {
                    context.report(error, about: results.count > 1 ? path : nil)
                    if kept { context.note(resumeText(path, kept: true, reason: "cut short")) }
                    one = ExitStatus(error)
                }
            case .notBegun(let error):
                context.report(error)
                one = .failure
            }
            if status == .success { status = one }
        }
        return status
    }

    private func resumeText(_ path: String, kept: Bool, reason: String) -> String {
        guard kept else {
            return "\(path): \(reason); the response lacks what is needed to resume it later, so nothing was kept"
        }
        let url = invocation.urls.count == 1 ? invocation.urls[0] : "URL"
        let command = ["curlew", "--download", "--continue", "--output", path, url].map(ShellQuote.quoted)
        return "\(path): \(reason), and kept. To resume: \(command.joined(separator: " "))"
    }
}
