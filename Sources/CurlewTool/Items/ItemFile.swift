internal import Foundation

/// The right side of `name@path;type=text/plain`.
struct ItemFile: Equatable, Sendable {
    let path: String
    let mediaType: String?

    init(parsing value: String) {
        guard let marker = value.range(of: ";type=", options: .backwards), marker.upperBound < value.endIndex else {
            path = value
            mediaType = nil
            return
        }
        path = String(value[..<marker.lowerBound])
        mediaType = String(value[marker.upperBound...])
    }
}
