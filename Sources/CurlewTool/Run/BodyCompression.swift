internal import Curlew
internal import Foundation

extension Preparation {
    /// Decides whether the body is sent compressed. Only a body in memory can be. With `.ifSmaller`, it is compressed
    /// here to compare the sizes.
    mutating func decideCompression() {
        guard case .data(let bytes) = plan.body else {
            compressesBody = false
            return
        }
        switch invocation.body.compression {
        case .off: compressesBody = false
        case .ifSmaller: compressesBody = bytes.count > BodySettings.Compression.worthwhile && Self.shrinks(bytes)
        case .always: compressesBody = true
        }
    }

    private static func shrinks(_ bytes: [UInt8]) -> Bool {
        ((try? Deflate.compressed(Data(bytes), as: .zlib)).map { $0.count < bytes.count }) ?? false
    }
}
