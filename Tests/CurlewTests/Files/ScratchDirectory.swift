import CurlewLocks
import Foundation

/// A directory of one test, removed with everything in it when the test lets go of it.
final class ScratchDirectory: Sendable {
    let url: URL

    init(in parent: URL = FileManager.default.temporaryDirectory) throws {
        url = parent.appending(path: "curlew-tests-\(UUID().uuidString)", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    var path: String { String(url.path(percentEncoded: false).dropLast()) }

    func file(_ name: String) -> URL { url.appending(path: name, directoryHint: .notDirectory) }

    /// Names of everything in it, hidden files too.
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}

extension URL {
    var text: String? { try? String(contentsOf: self, encoding: .utf8) }
    var plainPath: String { path(percentEncoded: false) }
}
