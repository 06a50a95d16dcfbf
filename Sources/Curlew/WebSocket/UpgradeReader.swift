internal import CurlewCore
internal import Foundation

/// Reads the response to an upgrade request from its connection.
struct UpgradeReader {
    private let wire: any ByteConnection
    private let timeouts: Timeouts
    private var parser: UpgradeResponseParser
    /// Received bytes that have not been parsed.
    private(set) var rest: [UInt8] = []
    private(set) var bytesReceived: Int64 = 0
    private var hasEnded = false

    private static let readSize = 16 * 1024

    init(wire: any ByteConnection, maximumHeaderSize: Int, timeouts: Timeouts) {
        self.wire = wire
        self.timeouts = timeouts
        parser = UpgradeResponseParser(maximumHeaderSize: maximumHeaderSize)
    }

    /// Returns the final head. Earlier heads, with a 1xx status, are passed to `informational`.
    mutating func head(informational: (ResponseHead) -> Void) async throws(CurlewError) -> ResponseHead {
        while let event = try await next() {
            switch event {
            case .informational(let head): informational(head)
            case .head(let head): return head
            case .body, .end: break
            }
        }
        throw CurlewError(
            .receiveFailed, phase: .waiting, reason: "the connection ended before the server had answered")
    }

    /// The next piece of the body; `nil` at its end.
    mutating func body() async throws(CurlewError) -> Data? {
        guard case .body(let piece)? = try await next() else { return nil }
        return piece
    }

    private mutating func next() async throws(CurlewError) -> UpgradeResponseParser.Event? {
        while true {
            if let event = try parse() { return event }
            if hasEnded { return nil }
            guard let bytes = try await receive() else {
                hasEnded = true
                try parser.finish()
                return nil
            }
            bytesReceived += Int64(bytes.count)
            rest += bytes
        }
    }

    private mutating func parse() throws(CurlewError) -> UpgradeResponseParser.Event? {
        let given = rest
        var parser = parser
        let result = given.withUnsafeBytes { whole in
            var input = whole
            return Result { () throws(CurlewError) in (try parser.next(&input), whole.count - input.count) }
        }
        let (event, taken) = try result.get()
        self.parser = parser
        rest = Array(given[taken...])
        return event
    }

    private func receive() async throws(CurlewError) -> [UInt8]? {
        let isFirst = bytesReceived == 0
        guard let limit = isFirst ? timeouts.firstByte : timeouts.idle else {
            return try await wire.receive(maximum: Self.readSize)
        }
        let wire = wire
        let result = await withTaskGroup(of: Result<[UInt8]?, CurlewError>?.self) { group in
            group.addTask {
                do throws(CurlewError) { return .success(try await wire.receive(maximum: Self.readSize)) } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                guard await Pause.wait(for: limit) else { return nil }
                return .failure(
                    CurlewError(
                        isFirst ? .firstByteTimedOut : .idleTimedOut,
                        phase: isFirst ? .waiting : .receive,
                        reason: "the server sent nothing for \(limit)"))
            }
            var result: Result<[UInt8]?, CurlewError>?
            while result == nil, let next = await group.next() { result = next }
            group.cancelAll()
            return result
        }
        return try (result ?? .failure(.cancelled)).get()
    }
}
