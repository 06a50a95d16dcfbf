import CurlewTesting
import Foundation

/// What the programs send and expect.
struct Item: Codable, Equatable, Sendable {
    var id = 1
    var name = "Ada"
}

/// What the server's echo says of a request.
struct Echo: Decodable, Sendable {
    let args: [String: String]
    let headers: [String: String]
    let form: [String: String]
    let data: String
    let method: String
}

/// Waits for one call of a completion handler.
func completed<Value: Sendable>(_ start: (@escaping @Sendable (Value) -> Void) -> Void) async -> Value {
    await withCheckedContinuation { continuation in
        start { continuation.resume(returning: $0) }
    }
}

extension TestServer {
    /// The server's address as text, as programs write it.
    var address: String { "http://127.0.0.1:\(port)" }
}
