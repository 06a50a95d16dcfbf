import CurlewAlamofire
import Foundation
import FoundationNetworking

extension URLRequest {
    /// A copy with one more word in its field `Marks`.
    func marked(_ mark: String) -> URLRequest {
        var copy = self
        copy.headers.add(name: "Marks", value: [headers["Marks"], mark].compactMap(\.self).joined(separator: " "))
        return copy
    }
}
