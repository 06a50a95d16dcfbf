internal import CZlib
internal import CurlewCore
public import Foundation
public import FoundationNetworking

/// Compresses the bodies of requests with the `gzip` coding.
///
/// Only bodies in the `URLRequest` are compressed, not those of uploads. Use it only with servers that are known to
/// understand the coding: a client cannot find out.
public struct GzipRequestCompressor: RequestInterceptor {
    package let compression: BodyCompression

    /// Creates a compressor. By default it compresses every body, and throws if the request already has a
    /// `Content-Encoding`.
    public init(
        duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) {
        compression = BodyCompression(
            format: .gzip, duplicates: duplicateHeaderBehavior, wants: shouldCompressBodyData)
    }

    /// Compresses the request's body and sets its `Content-Encoding`.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try compression.compressing(urlRequest)
    }
}

/// The treatment of a request that already has a `Content-Encoding`.
public enum DuplicateHeaderBehavior: Sendable, Hashable {
    /// Fail with `DuplicateHeaderError`.
    case error
    /// Compress and replace the field.
    case replace
    /// Leave the request as it is.
    case skip
}

/// The error of a request that should be compressed but already has a `Content-Encoding`.
public struct DuplicateHeaderError: Error, Hashable {
    /// Creates the error.
    package init() {}
}

/// The compression of a request's body, in any coding.
package struct BodyCompression {
    let format: Deflate.Format
    /// The treatment of a request that already has a `Content-Encoding`.
    package let duplicates: DuplicateHeaderBehavior
    /// Whether a body is worth compressing.
    package let wants: @Sendable (Data) -> Bool

    package init(
        format: Deflate.Format, duplicates: DuplicateHeaderBehavior, wants: @escaping @Sendable (Data) -> Bool
    ) {
        self.format = format
        self.duplicates = duplicates
        self.wants = wants
    }

    package func compressing(_ urlRequest: URLRequest) throws -> URLRequest {
        guard let body = urlRequest.httpBody, wants(body) else { return urlRequest }
        if urlRequest.value(forHTTPHeaderField: "Content-Encoding") != nil {
            switch duplicates {
            case .error: throw DuplicateHeaderError()
            case .skip: return urlRequest
            case .replace: break
            }
        }
        var request = urlRequest
        request.httpBody = try Deflate.compressed(body, as: format)
        request.setValue(format.rawValue, forHTTPHeaderField: "Content-Encoding")
        // A `Content-Length` that the user has set is the length of the uncompressed body.
        request.setValue(nil, forHTTPHeaderField: "Content-Length")
        return request
    }
}

/// Compression by zlib, which is documented in zlib.h.
package enum Deflate {
    /// The raw value is the name of the content coding.
    package enum Format: String {
        /// The format of RFC 1950, which HTTP calls `deflate`.
        case zlib = "deflate"
        case gzip

        /// The window size, 15 bits. Adding 16 asks zlib for a gzip wrapper.
        var windowBits: Int32 {
            switch self {
            case .zlib: 15
            case .gzip: 15 + 16
            }
        }
    }

    // With level 5 the zlib header says "fast", like the header that Alamofire's compressor writes (0x78 0x5E).
    private static let level: Int32 = 5
    private static let memoryLevel: Int32 = 8

    package static func compressed(_ data: Data, as format: Format) throws -> Data {
        var stream = z_stream()
        let code = deflateInit2_(
            &stream,
            level,
            Z_DEFLATED,
            format.windowBits,
            memoryLevel,
            Z_DEFAULT_STRATEGY,
            zlibVersion(),
            Int32(MemoryLayout<z_stream>.size)
        )
        guard code == Z_OK else { throw failure(code) }
        defer { deflateEnd(&stream) }

        var output = Data(count: Int(deflateBound(&stream, uLong(data.count))))
        let written = try data.withUnsafeBytes { input in
            try output.withUnsafeMutableBytes { try run(&stream, from: input, into: $0) }
        }
        return output.prefix(written)
    }

    /// zlib counts in 32 bits, so larger bodies are compressed in steps.
    private static func run(
        _ stream: inout z_stream,
        from input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws -> Int {
        let step = Int(UInt32.max / 2)
        var (read, written) = (0, 0)
        while true {
            let available = min(step, input.count - read)
            let room = min(step, output.count - written)
            // zlib does not write through `next_in`, although its type is not const.
            stream.next_in = UnsafeMutablePointer(
                mutating: input.baseAddress?.advanced(by: read).assumingMemoryBound(to: Bytef.self)
            )
            stream.avail_in = uInt(available)
            stream.next_out = output.baseAddress?.advanced(by: written).assumingMemoryBound(to: Bytef.self)
            stream.avail_out = uInt(room)
            let isLast = read + available == input.count
            let code = deflate(&stream, isLast ? Z_FINISH : Z_NO_FLUSH)
            read += available - Int(stream.avail_in)
            written += room - Int(stream.avail_out)
            if code == Z_STREAM_END { return written }
            guard code == Z_OK else { throw failure(code) }
        }
    }

    private static func failure(_ code: Int32) -> CurlewError {
        CurlewError(
            .invalidBody,
            phase: .adaptation,
            reason: "zlib could not compress the body.",
            native: .init(number: Int(code), name: "zlib")
        )
    }
}
