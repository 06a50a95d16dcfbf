import Foundation

extension URL {
    var text: String? { try? String(contentsOf: self, encoding: .utf8) }
    var plainPath: String { path(percentEncoded: false) }
}
