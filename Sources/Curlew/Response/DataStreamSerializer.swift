internal import CurlewFailures
public import CurlewJSON
public import Foundation

/// Turns each chunk of a stream into a value.
public protocol DataStreamSerializer<SerializedObject>: Sendable {
    /// What a piece becomes.
    associatedtype SerializedObject: Sendable

    /// Makes a value of one piece.
    func serialize(_ data: Data) throws -> SerializedObject
}

/// Decodes each chunk.
public struct DecodableStreamSerializer<T: Decodable & Sendable>: DataStreamSerializer {
    /// The decoder of the chunks.
    public let decoder: any DataDecoder
    /// The preprocessor that changes each chunk before it is decoded.
    public let dataPreprocessor: any DataPreprocessor

    /// Creates a serializer that decodes each chunk on its own.
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
            throw CurlewError.responseSerializationFailed(reason: .decodingFailed(error: error))
        }
    }
}

/// Returns each chunk as received.
public struct PassthroughStreamSerializer: DataStreamSerializer {
    /// Creates a serializer that hands on pieces as they are.
    public init() {}

    /// Returns the chunk unchanged.
    public func serialize(_ data: Data) throws -> Data { data }
}

/// Gives each chunk as UTF-8 text; bytes that are none become U+FFFD.
public struct StringStreamSerializer: DataStreamSerializer {
    /// Creates a serializer that reads each chunk as UTF-8 text.
    public init() {}

    /// Reads one piece as UTF-8; what is not UTF-8 becomes U+FFFD.
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
    /// Each chunk as it came.
    public static var passthrough: PassthroughStreamSerializer { PassthroughStreamSerializer() }
}

extension DataStreamSerializer where Self == StringStreamSerializer {
    /// Each chunk as UTF-8 text.
    public static var string: StringStreamSerializer { StringStreamSerializer() }
}
