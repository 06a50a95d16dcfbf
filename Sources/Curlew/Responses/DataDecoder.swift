public import CurlewJSON
public import Foundation

/// Decodes values from bytes: `FastJSONDecoder`, `JSONDecoder`, `PropertyListDecoder`, or one of your own.
public protocol DataDecoder: Sendable {
    /// Decodes a value from the bytes of a body.
    func decode<D: Decodable>(_ type: D.Type, from data: Data) throws -> D
}

extension DataDecoder {
    /// Decodes a value from a part of a stream. The error calls the part `name`.
    func value<T: Decodable>(_ type: T.Type, of data: Data, named name: String) throws(CurlewError) -> T {
        do {
            return try decode(type, from: data)
        } catch {
            throw CurlewError(
                .decodingFailed, phase: .decoding, reason: "\(name) does not decode as \(T.self)", underlying: error)
        }
    }
}

extension FastJSONDecoder: DataDecoder {}

extension JSONDecoder: DataDecoder {}

extension PropertyListDecoder: DataDecoder {}
