internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// The file name that a response suggests, safe to append to a directory.
enum SuggestedFilename {
    /// The name from `Content-Disposition`, otherwise the last component of the URL. `nil` if neither is usable.
    static func make(for response: HTTPURLResponse) -> String? {
        make(disposition: response.value(forHTTPHeaderField: "Content-Disposition"), url: response.url)
    }

    static func make(disposition: String?, url: URL?) -> String? {
        if let disposition, let name = ContentDisposition(parsing: disposition).safeFilename { return name }
        guard let last = url?.lastPathComponent, last != "/" else { return nil }
        return SafeFilename.make(last)
    }
}
