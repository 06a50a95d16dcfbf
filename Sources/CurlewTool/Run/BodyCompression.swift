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

extension RequestInterceptor where Self == Adapter {
    /// Sends bodies in memory with the coding `deflate`, as HTTPie does.
    static var deflatingBodies: Adapter {
        Adapter { request, _ in
            try BodyCompression(format: .zlib, duplicates: .error, wants: { _ in true }).compressing(request)
        }
    }
}
