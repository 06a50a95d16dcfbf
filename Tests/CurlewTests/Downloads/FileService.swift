import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation

@testable import Curlew

/// One file on a test server, with ranges and validators as a correct server has them, and with faults on demand.
final class FileService: Sendable {
    struct Behaviour: Sendable {
        var seed: UInt64 = 1
        var length: Int = 1 << 20
        var tag: String? = "\"v1\""
        var modified: String?
        var contentType: String? = "application/octet-stream"
        var hasRanges = true
        /// The largest number of bytes in one partial response.
        var longestRange: Int?
        var obeysIfRange = true
        /// Fields that are added to every response with contents of the file.
        var headers: HTTPHeaders = [:]
        /// The offsets at which the next responses are cut, counted from the first body byte. Each response consumes
        /// one, unless `stall` is set; `nil` means that the response is not cut.
        var cuts: [Int?] = []
        /// The offset at which every response stops: until `gate` opens, or forever without a gate.
        var stall: Int?
        var gate: Gate?
        /// The number of responses that do not stall before the others do.
        var unstalled = 0
        /// Statuses to send instead of the file. Each response consumes one before anything else is considered.
        var statuses: [Int] = []
        /// The most bytes sent per second. A busy machine may send them more slowly.
        var sendRate: Int?
    }

    let server: TestServer
    private let state: Lock<Behaviour>

    init(_ change: (inout Behaviour) -> Void = { _ in }) throws {
        server = try TestServer()
        var behaviour = Behaviour()
        change(&behaviour)
        state = Lock(behaviour)
        server.route("/file") { [state] request in
            state.withLock { Self.answer(request, &$0) }
        }
    }

    var url: String { server.url("/file").absoluteString }

    func change(_ change: (inout Behaviour) -> Void) { state.withLock { change(&$0) } }

    /// The whole file, as the server would send it at this moment.
    var contents: Data {
        let (length, seed) = state.withLock { ($0.length, $0.seed) }
        return TestServer.patternBytes(count: length, seed: seed)
    }

    var ranges: [String?] { server.requests.map { $0.headers["Range"] } }

    private static func answer(_ request: TestServer.Request, _ state: inout Behaviour) -> TestServer.Response {
        if !state.statuses.isEmpty { return .text("sorry", status: state.statuses.removeFirst()) }
        var range = state.hasRanges ? request.headers["Range"].flatMap { parse($0, state.length) } : nil
        if state.obeysIfRange, let condition = request.headers["If-Range"], condition != state.tag,
            condition != state.modified
        {
            range = nil
        }
        if let range, range.isEmpty {
            return .status(416, headers: ["Content-Range": "bytes */\(state.length)"])
        }
        if let asked = range, let longest = state.longestRange { range = asked.prefix(longest) }
        let bytes = range ?? 0..<state.length
        let (seed, first) = (state.seed, Int64(bytes.lowerBound))
        var response = TestServer.Response(
            status: range == nil ? 200 : 206,
            body: .generated(length: Int64(bytes.count)) { offset, most in
                let left = bytes.count - Int(offset)
                return left <= 0
                    ? Data() : TestServer.patternBytes(from: first + offset, count: min(left, most), seed: seed)
            }
        )
        if range != nil {
            response.headers["Content-Range"] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(state.length)"
        }
        response.headers["Content-Type"] = state.contentType
        response.headers["ETag"] = state.tag
        response.headers["Last-Modified"] = state.modified
        for header in state.headers { response.headers.append(header) }
        response.sendRate = state.sendRate
        if let stall = state.stall {
            guard state.unstalled == 0 else {
                state.unstalled -= 1
                return response
            }
            let point = TestServer.Fault.Point.inBody(after: Int64(stall))
            return state.gate.map { response.stalling(until: $0, at: point) } ?? response.faulting(.stall(), at: point)
        }
        let cut = state.cuts.isEmpty ? nil : state.cuts.removeFirst()
        return cut.map { response.faulting(.reset, at: .inBody(after: Int64($0))) } ?? response
    }

    /// `nil` if the field is not a range; an empty range if it begins beyond the end.
    private static func parse(_ header: String, _ length: Int) -> Range<Int>? {
        let parts = header.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = Int(parts[0]) else { return nil }
        guard first < length else { return length..<length }
        let last = Int(parts[1]) ?? length - 1
        return first..<min(length, last + 1)
    }
}

extension Digest {
    static func sha256(of file: URL) throws -> String {
        let digest = try Digest(.sha256)
        let handle = try OpenFile.existing(file.plainPath)
        try FileCopy.forEachPiece(of: handle, in: 0..<Int64.max) { bytes, _ throws(CurlewError) in digest.update(bytes)
        }
        return Checksum.hex(digest.finish())
    }

    static func sha256(of data: Data) throws -> String {
        let digest = try Digest(.sha256)
        data.withUnsafeBytes { digest.update($0) }
        return Checksum.hex(digest.finish())
    }
}

/// A destination whose URL the test knows.
func destination(_ url: URL, _ options: DownloadRequest.Options = []) -> DownloadRequest.Destination {
    { _, _ in (url, options) }
}
