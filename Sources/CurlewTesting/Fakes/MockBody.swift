internal import CurlewCore
internal import Foundation

/// Consumes a request's body as a connection would: in portions, only while the exchange is not suspended, and waiting
/// for a source that has no bytes yet.
struct MockBody {
    let exchange: MockExchange
    let sink: any TransferSink

    private static let portion = 64 * 1024

    func collect(_ source: BodySource) async throws(CurlewError) -> Data {
        switch source {
        case .none:
            return Data()
        case .data(let data):
            try await report(data.count, of: Int64(data.count))
            return data
        case .file(let url, let range):
            let data = try read(url, range)
            try await report(data.count, of: Int64(data.count))
            return data
        case .stream(let stream, let length):
            defer { stream.close() }
            return try await pull(stream, length)
        }
    }

    private func report(_ total: Int, of expected: Int64?) async throws(CurlewError) {
        var sent = 0
        while sent < total {
            try await exchange.clearance(.sending)
            sent = min(total, sent + Self.portion)
            sink.didSend(bodyBytes: Int64(sent), of: expected)
        }
    }

    private func read(_ url: URL, _ range: Range<Int64>?) throws(CurlewError) -> Data {
        do {
            let file = try FileHandle(forReadingFrom: url)
            defer { try? file.close() }
            guard let range else { return try file.readToEnd() ?? Data() }
            try file.seek(toOffset: UInt64(range.lowerBound))
            return try file.read(upToCount: Int(range.count)) ?? Data()
        } catch {
            throw CurlewError(.fileUnreadable, phase: .creation, reason: "body file", underlying: error)
        }
    }

    private func pull(_ stream: any BodyStream, _ length: Int64?) async throws(CurlewError) -> Data {
        let waker = Waker()
        stream.open(waker: waker)
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: Self.portion)
        while true {
            try await exchange.clearance(.sending)
            let wakes = waker.count.value
            switch buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {
            case .bytes(let count):
                data.append(contentsOf: buffer[..<count])
                sink.didSend(bodyBytes: Int64(data.count), of: length)
            case .pending:
                _ = try await exchange.whileRunning { await waker.count.wait { $0 > wakes } }
            case .end:
                return data
            case .failed(let error):
                throw error
            }
        }
    }

    private final class Waker: BodyWaker {
        let count = Watched(0)

        func wake() { count.change { $0 += 1 } }
    }
}
