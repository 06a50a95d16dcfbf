internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// The name that a response suggests for its file, safe to append to a directory.
enum SuggestedFilename {
    /// From `Content-Disposition`, else the URL's last part; nil where neither gives a usable name.
    static func make(for response: HTTPURLResponse) -> String? {
        make(disposition: response.value(forHTTPHeaderField: "Content-Disposition"), url: response.url)
    }

    static func make(disposition: String?, url: URL?) -> String? {
        if let disposition, let name = ContentDisposition(parsing: disposition).safeFilename { return name }
        guard let last = url?.lastPathComponent, last != "/" else { return nil }
        return SafeFilename.make(last)
    }
}
