public import Curlew
public import Foundation
public import FoundationNetworking

/// Makes values of messages.
public protocol WebSocketMessageSerializer<Output, Failure>: Sendable {
    /// What a message is turned into.
    associatedtype Output: Sendable
    /// The error of a message that cannot be turned into it.
    associatedtype Failure: Error = any Error

    /// The value of a message.
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
    /// Why a message could not be decoded.
    public enum Error: Swift.Error {
        /// The decoder has thrown this.
        case decoding(any Swift.Error)
        /// A kind of message that this version does not know.
        case unknownMessage(description: String)
    }

    /// Decodes the bytes.
    public let decoder: any DataDecoder

    /// Decodes with `decoder`.
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
