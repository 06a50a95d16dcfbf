// A mirror of the files that an index lists. Downloads are verified, and continue after an interruption.

import Curlew
import CurlewTesting
import Foundation

/// A folder with copies of the files of an index.
struct DownloadMirror: Sendable {
    struct Entry: Codable, Sendable {
        var name: String
        var url: URL
        var sha256: String
    }

    struct UnsafeName: Error {
        var name: String
    }

    private let session: Session
    private let folder: URL

    init(folder: URL) {
        self.folder = folder
        session = Session(
            configuration: SessionConfiguration {
                $0.identifier = "mirror"
                $0.downloadJournal = DownloadJournal(directory: folder.appending(path: ".unfinished"))
            },
            interceptor: .retryPolicy
        )
    }

    /// Downloads the missing files. Unfinished downloads continue, even those of a process that was killed.
    func update(from index: URL) async throws {
        let entries = try await session.request(index).decode([Entry].self)
        let unfinished = Dictionary(grouping: await session.unfinishedDownloads(), by: \.url)
        for entry in entries {
            let file = try destination(of: entry)
            // A file has its name only after it is complete and verified.
            if FileManager.default.fileExists(atPath: file.path(percentEncoded: false)) { continue }
            let place: DownloadRequest.Destination = { _, _ in (file, [.createIntermediateDirectories]) }
            let begun = unfinished[entry.url]?.last
            let download =
                begun.map { session.download(continuing: $0, to: place) } ?? session.download(entry.url, to: place)
            async let bar: Void = ProgressBar(title: entry.name).follow(download.downloadProgress())
            _ = try await download.checksum(.sha256, entry.sha256).file()
            await bar
        }
    }

    /// Returns the file of an entry. The index comes from another machine, so its names must not lead out of the
    /// folder.
    private func destination(of entry: Entry) throws(UnsafeName) -> URL {
        guard !entry.name.isEmpty, !entry.name.hasPrefix("."), !entry.name.contains("/") else {
            throw UnsafeName(name: entry.name)
        }
        return folder.appending(path: entry.name)
    }
}

/// A line on standard error that is drawn again with each change.
struct ProgressBar {
    let title: String

    func follow(_ updates: some AsyncSequence<Progress, Never>) async {
        for await progress in updates { draw(progress) }
        FileHandle.standardError.write(Data("\n".utf8))
    }

    private func draw(_ progress: Progress) {
        let (width, done) = (30, progress.fractionCompleted)
        let filled = Int(Double(width) * done)
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        let rate = Double(progress.throughput ?? 0) / 1_000_000
        let line = String(format: "\r%@  %@ %3.0f %%  %.1f MB/s", title, bar, done * 100, rate)
        FileHandle.standardError.write(Data(line.utf8))
    }
}

// MARK: - Demonstration

@main
enum Demonstration {
    static func main() async throws {
        let server = try standIn()
        let scratch = try ScratchDirectory()
        let mirror = DownloadMirror(folder: scratch.url)

        do {
            try await mirror.update(from: server.url("/index"))
        } catch let error as CurlewError {
            print("interrupted: \(error.code) \(error.responseCode ?? 0)")
        }
        try await mirror.update(from: server.url("/index"))
        let ranges = server.requests.compactMap { $0.headers["Range"] }
        print("continued with \(ranges.last ?? "nothing"); the mirror has \(scratch.names)")
    }

    /// Serves two files slowly. The server breaks down in the middle of the first, and needs a while to restart.
    static func standIn() throws -> TestServer {
        let server = try TestServer()
        let files = [
            ("maps.bin", 3_000_000, "45ab068c4e024936d87039e8c057ae100d8b333fbee0a53504f0d63317f89c74"),
            ("birds.bin", 500_000, "6b5a4bec034369e0056d71f9a780a0622ed1c9a2b67f6d8b31f993b8adc3bb14"),
        ]
        let entries = files.map { name, size, sum in
            DownloadMirror.Entry(name: name, url: server.url("/range/\(size)?rate=4000000"), sha256: sum)
        }
        server.route("/index") { _ in .json(entries) }
        server.script(
            "/range/3000000",
            .bytes(3_000_000).header("ETag", "\"range3000000-0\"").throttled(to: 4_000_000)
                .faulting(.close, at: .inBody(after: 1_200_000)),
            .status(503),
            .status(503)
        )
        return server
    }
}
