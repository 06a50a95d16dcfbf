internal import CurlewCore
internal import Foundation

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
