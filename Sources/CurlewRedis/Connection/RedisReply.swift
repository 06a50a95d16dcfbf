internal import CHiredis
internal import Foundation

/// A reply of the server.
enum RedisReply: Sendable, Equatable {
    case null
    case status(String)
    case integer(Int64)
    case bytes(Data)
    case array([RedisReply])
    case error(String)

    init(_ reply: UnsafeMutablePointer<redisReply>) {
        let value = reply.pointee
        switch value.type {
        case REDIS_REPLY_STRING: self = .bytes(Self.data(value))
        case REDIS_REPLY_STATUS: self = .status(String(decoding: Self.data(value), as: UTF8.self))
        case REDIS_REPLY_ERROR: self = .error(String(decoding: Self.data(value), as: UTF8.self))
        case REDIS_REPLY_INTEGER: self = .integer(value.integer)
        case REDIS_REPLY_ARRAY:
            self = .array((0..<Int(value.elements)).map { value.element[$0].map { RedisReply($0) } ?? .null })
        // The constants are C integers, so the switch needs a default. The null reply is the only other type of RESP2.
        default: self = .null
        }
    }

    private static func data(_ reply: redisReply) -> Data {
        reply.str.map { Data(bytes: $0, count: Int(reply.len)) } ?? Data()
    }

    var data: Data? { if case .bytes(let data) = self { data } else { nil } }
    var number: Int64? { if case .integer(let number) = self { number } else { nil } }
    var elements: [RedisReply]? { if case .array(let elements) = self { elements } else { nil } }
    var isOK: Bool { self == .status("OK") }
    var isError: Bool { if case .error = self { true } else { false } }
}
