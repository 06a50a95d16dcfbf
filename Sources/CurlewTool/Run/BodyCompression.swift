internal import Curlew
internal import Foundation
internal import FoundationNetworking

extension BodySettings.Compression {
    /// Whether this body is sent compressed. To find out whether it becomes smaller it is compressed.
    func applies(to body: Data) -> Bool {
        switch self {
        case .off: false
        case .ifSmaller: body.count > Self.worthwhile && Self.compressedCount(body).map { $0 < body.count } ?? false
        case .always: true
        }
    }

    private static func compressedCount(_ body: Data) -> Int? {
        var request = URLRequest(url: URL(filePath: "/"))
        request.httpBody = body
        return try? DeflateRequestCompressor().compressing(request).httpBody?.count
    }
}

extension Preparation {
    /// Whether the body is in memory, compression was asked for, and it makes the body smaller.
    var compressesBody: Bool {
        guard case .data(let bytes) = plan.body else { return false }
        return invocation.body.compression.applies(to: Data(bytes))
    }
}
