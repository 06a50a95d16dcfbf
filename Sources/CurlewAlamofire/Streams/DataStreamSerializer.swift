public import Curlew
public import Foundation

/// Makes a value from each chunk of a stream.
public protocol DataStreamSerializer<SerializedObject>: Sendable {
    /// The value of a chunk.
    associatedtype SerializedObject: Sendable

    /// Returns the value of one chunk.
    func serialize(_ data: Data) throws -> SerializedObject
}

/// Decodes each chunk.
public struct DecodableStreamSerializer<T: Decodable & Sendable>: DataStreamSerializer {
    /// The decoder of the chunks.
    public let decoder: any DataDecoder
    /// The preprocessor that changes each chunk before it is decoded.
    public let dataPreprocessor: any DataPreprocessor

    /// Creates a serializer that decodes each chunk separately.
    public init(
        decoder: any DataDecoder = FastJSONDecoder(),
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor()
    ) {
        self.decoder = decoder
        self.dataPreprocessor = dataPreprocessor
    }

    /// Decodes one chunk.
    public func serialize(_ data: Data) throws -> T {
        let processed = try dataPreprocessor.preprocess(data)
        do {
            return try decoder.decode(T.self, from: processed)
        } catch {
            throw CurlewError.bodyNotDecoded(error)
        }
    }
}

/// Returns each chunk as received.
public struct PassthroughStreamSerializer: DataStreamSerializer {
    /// Creates a serializer that returns each chunk unchanged.
    public init() {}

    /// Returns the chunk unchanged.
    public func serialize(_ data: Data) throws -> Data { data }
}

/// Returns each chunk as UTF-8 text, with invalid bytes replaced by U+FFFD. A character that is split between two
/// chunks is invalid in both.
public struct StringStreamSerializer: DataStreamSerializer {
    /// Creates a serializer that reads each chunk as UTF-8 text.
    public init() {}

    /// Reads one chunk as UTF-8; invalid bytes become U+FFFD.
    public func serialize(_ data: Data) throws -> String { String(decoding: data, as: UTF8.self) }
}

extension DataStreamSerializer {
    /// Decodes each chunk.
    public static func decodable<T: Decodable & Sendable>(
        of type: T.Type,
        decoder: any DataDecoder = FastJSONDecoder(),
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor()
    ) -> Self where Self == DecodableStreamSerializer<T> {
        DecodableStreamSerializer<T>(decoder: decoder, dataPreprocessor: dataPreprocessor)
    }
}

extension DataStreamSerializer where Self == PassthroughStreamSerializer {
    /// Returns each chunk as received.
    public static var passthrough: PassthroughStreamSerializer { PassthroughStreamSerializer() }
}

extension DataStreamSerializer where Self == StringStreamSerializer {
    /// Returns each chunk as UTF-8 text.
    public static var string: StringStreamSerializer { StringStreamSerializer() }
}
