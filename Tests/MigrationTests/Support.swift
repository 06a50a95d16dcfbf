import CurlewTesting
import Foundation

/// The value that the programs send and expect.
struct Item: Codable, Equatable, Sendable {
    var id = 1
    var name = "Ada"
}

/// The server's description of a request.
struct Echo: Decodable, Sendable {
    let args: [String: String]
    let headers: [String: String]
    let form: [String: String]
    let data: String
    let method: String
}

/// Returns the value that a completion handler receives. The handler must be called exactly once.
func completed<Value: Sendable>(_ start: (@escaping @Sendable (Value) -> Void) -> Void) async -> Value {
    await withCheckedContinuation { continuation in
        start { continuation.resume(returning: $0) }
    }
}

extension TestServer {
    /// The server's address as text, in the form that programs use.
    var address: String { "http://127.0.0.1:\(port)" }
}
