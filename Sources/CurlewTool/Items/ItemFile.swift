internal import Foundation

/// The value of a file item, `path;type=text/plain`: a path and an optional media type.
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
