import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation

@testable import Curlew

/// One file on a test server, with ranges and validators as a good server has them, and faults on demand.
final class FileService: Sendable {
    struct Behaviour: Sendable {
        var seed: UInt64 = 1
        var length: Int = 1 << 20
        var tag: String? = "\"v1\""
        var modified: String?
        var contentType: String? = "application/octet-stream"
        var hasRanges = true
        /// Most bytes of one answer to a range.
        var longestRange: Int?
        var obeysIfRange = true
        /// What is added to every answer.
        var headers: HTTPHeaders = [:]
        /// Each answer takes one: where the connection is cut, counted from the answer's first body byte; nil is nowhere.
        var cuts: [Int?] = []
        /// Where every answer stops without an end, or until `gate` opens.
        var stall: Int?
        var gate: Gate?
        /// So many answers do not.
        var unstalled = 0
        /// Each answer takes one before anything else: a status to send instead.
        var statuses: [Int] = []
        /// Most bytes a second. On a busy machine it may be any slower.
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

    /// What the whole file is now.
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

    /// nil for what is no range; empty for one beyond the end.
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

/// A destination that a test knows.
func destination(_ url: URL, _ options: DownloadRequest.Options = []) -> DownloadRequest.Destination {
    { _, _ in (url, options) }
}
