public import CurlewCore
public import Foundation

/// Decodes values from bytes: `FastJSONDecoder`, `JSONDecoder`, `PropertyListDecoder`, or one of your own.
public protocol DataDecoder: Sendable {
    /// Makes a value of a body.
    func decode<D: Decodable>(_ type: D.Type, from data: Data) throws -> D
}

extension FastJSONDecoder: DataDecoder {}

extension JSONDecoder: DataDecoder {}

extension PropertyListDecoder: DataDecoder {}
