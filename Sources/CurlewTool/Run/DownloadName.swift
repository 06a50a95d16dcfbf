internal import CurlewCore
internal import Foundation

/// Names for downloaded files and what lies beside them.
enum DownloadName {
    /// The file with which `--continue` goes on.
    static func resumeFile(for path: String) -> String { path + ".curlew-resume" }

    /// `name`, `name-1`, `name-2`, …: the first that is free. The number stands before the ending.
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

    /// The path as seen from `folder`.
    static func relative(_ path: String, to folder: String) -> String {
        let prefix = folder.hasSuffix("/") ? folder : folder + "/"
        return path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : path
    }

    /// What the end of a URL suggests, before the server has said anything.
    static func expected(for url: String) -> String {
        let path = URLParts(url).target.prefix { $0 != "?" }
        let last = path.split(separator: "/").last.map(String.init) ?? ""
        // As the file is called that a download makes of it.
        return SafeFilename.make(last.removingPercentEncoding ?? last) ?? "download"
    }
}
