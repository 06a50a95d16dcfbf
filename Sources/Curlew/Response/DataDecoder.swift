public import Foundation

/// Decodes values from bytes: `JSONDecoder`, `PropertyListDecoder`, or a faster one of your own.
public protocol DataDecoder: Sendable {
    /// Makes a value of a body.
    func decode<D: Decodable>(_ type: D.Type, from data: Data) throws -> D
}

extension JSONDecoder: DataDecoder {}

extension PropertyListDecoder: DataDecoder {}
