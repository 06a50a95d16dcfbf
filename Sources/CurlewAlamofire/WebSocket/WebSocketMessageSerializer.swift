public import Curlew
public import Foundation
public import FoundationNetworking

/// Turns messages into values.
public protocol WebSocketMessageSerializer<Output, Failure>: Sendable {
    /// The type that a message is turned into.
    associatedtype Output: Sendable
    /// The error of a message that cannot be turned into a value.
    associatedtype Failure: Error = any Error

    /// Returns the value of a message.
    func decode(_ message: URLSessionWebSocketTask.Message) throws -> Output
}

extension WebSocketMessageSerializer {
    /// Decodes each message as JSON.
    public static func json<Value>(
        decoding _: Value.Type = Value.self, using decoder: JSONDecoder = JSONDecoder()
    ) -> DecodableWebSocketMessageDecoder<Value> where Self == DecodableWebSocketMessageDecoder<Value> {
        Self(decoder: decoder)
    }
}

/// Decodes the bytes of a message, or the UTF-8 of its text.
public struct DecodableWebSocketMessageDecoder<Value: Decodable & Sendable>: WebSocketMessageSerializer {
    /// The error of a message that could not be decoded.
    public enum Error: Swift.Error {
        /// The decoder has thrown this error.
        case decoding(any Swift.Error)
        /// The kind of the message is not known to this version.
        case unknownMessage(description: String)
    }

    /// The decoder for the bytes of messages.
    public let decoder: any DataDecoder

    /// Creates a serializer that decodes with `decoder`.
    public init(decoder: any DataDecoder) { self.decoder = decoder }

    public func decode(_ message: URLSessionWebSocketTask.Message) throws -> Value {
        let data: Data
        switch message {
        case .data(let bytes): data = bytes
        case .string(let text): data = Data(text.utf8)
        @unknown default: throw Error.unknownMessage(description: String(describing: message))
        }
        do {
            return try decoder.decode(Value.self, from: data)
        } catch {
            throw Error.decoding(error)
        }
    }
}
