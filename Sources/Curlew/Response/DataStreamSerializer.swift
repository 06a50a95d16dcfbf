internal import CurlewCore
public import Foundation

/// Turns each chunk of a stream into a value.
public protocol DataStreamSerializer<SerializedObject>: Sendable {
    associatedtype SerializedObject: Sendable

    func serialize(_ data: Data) throws -> SerializedObject
}

/// Decodes each chunk.
public struct DecodableStreamSerializer<T: Decodable & Sendable>: DataStreamSerializer {
    public let decoder: any DataDecoder
    public let dataPreprocessor: any DataPreprocessor

    public init(
        decoder: any DataDecoder = JSONDecoder(),
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor()
    ) {
        self.decoder = decoder
        self.dataPreprocessor = dataPreprocessor
    }

    public func serialize(_ data: Data) throws -> T {
        let processed = try dataPreprocessor.preprocess(data)
        do {
            return try decoder.decode(T.self, from: processed)
        } catch {
            throw AFError.responseSerializationFailed(reason: .decodingFailed(error: error))
        }
    }
}

/// Gives each chunk as it came.
public struct PassthroughStreamSerializer: DataStreamSerializer {
    public init() {}

    public func serialize(_ data: Data) throws -> Data { data }
}

/// Gives each chunk as UTF-8 text; bytes that are none become U+FFFD.
public struct StringStreamSerializer: DataStreamSerializer {
    public init() {}

    public func serialize(_ data: Data) throws -> String { String(decoding: data, as: UTF8.self) }
}

extension DataStreamSerializer {
    /// Decodes each chunk.
    public static func decodable<T: Decodable & Sendable>(
        of type: T.Type,
        decoder: any DataDecoder = JSONDecoder(),
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor()
    ) -> Self where Self == DecodableStreamSerializer<T> {
        DecodableStreamSerializer<T>(decoder: decoder, dataPreprocessor: dataPreprocessor)
    }
}

extension DataStreamSerializer where Self == PassthroughStreamSerializer {
    /// Each chunk as it came.
    public static var passthrough: PassthroughStreamSerializer { PassthroughStreamSerializer() }
}

extension DataStreamSerializer where Self == StringStreamSerializer {
    /// Each chunk as UTF-8 text.
    public static var string: StringStreamSerializer { StringStreamSerializer() }
}
