import CurlewCore
import Foundation

@testable import CurlewTesting

/// Reads a body as an engine does.
final class BodyReader: BodyWaker {
    let wakes = Watched(0)

    func wake() { wakes.change { $0 += 1 } }

    func readAll(_ stream: any BodyStream, portion: Int = 1000, atMost limit: Int = .max) async throws -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: portion)
        while data.count < limit {
            let before = wakes.value
            switch buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {
            case .bytes(let count): data.append(contentsOf: buffer[..<count])
            case .pending: _ = await wakes.wait { $0 > before }
            case .end: return data
            case .failed(let error): throw error
            }
        }
        return data
    }
}

/// Returns the stream and the length that a form or a stream gives to the engine.
func stream(_ source: BodySource) throws -> (any BodyStream, Int64?) {
    guard case .stream(let stream, let length) = source else { throw CocoaError(.featureUnsupported) }
    return (stream, length)
}
