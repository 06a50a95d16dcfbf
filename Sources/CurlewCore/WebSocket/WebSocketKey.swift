internal import Foundation

/// The key of a handshake, and the server's answer to it (RFC 6455, 1.3).
package struct WebSocketKey: Hashable, Sendable {
    /// Sixteen bytes in Base64, as in the field.
    package let text: String

    /// Creates a key from sixteen bytes of `random`.
    package init(using random: inout some RandomNumberGenerator) {
        var bytes = Data()
        for _ in 0..<2 { withUnsafeBytes(of: random.next() as UInt64) { bytes.append(contentsOf: $0) } }
        text = bytes.base64EncodedString()
    }

    /// Reads the value of a field; `nil` if it is not a key.
    package init?(_ text: String) {
        guard text.utf8.count == 24, Data(base64Encoded: text)?.count == 16 else { return nil }
        self.text = text
    }

    /// The value of `Sec-WebSocket-Accept` that proves that the server has understood the handshake.
    package var answer: String {
        Data(SHA1.digest(Array((text + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))).base64EncodedString()
    }
}
