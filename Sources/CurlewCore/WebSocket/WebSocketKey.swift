internal import Foundation

/// The key of a handshake, and what a server that speaks WebSocket answers to it (RFC 6455, 1.3).
package struct WebSocketKey: Hashable, Sendable {
    /// Sixteen bytes in Base64, as the field has them.
    package let text: String

    /// `random` gives as many of its bytes as it is asked for.
    package init(using random: inout some RandomNumberGenerator) {
        var bytes = Data()
        for _ in 0..<2 { withUnsafeBytes(of: random.next() as UInt64) { bytes.append(contentsOf: $0) } }
        text = bytes.base64EncodedString()
    }

    /// nil where it is not a key.
    package init?(_ text: String) {
        guard text.utf8.count == 24, Data(base64Encoded: text)?.count == 16 else { return nil }
        self.text = text
    }

    package var answer: String {
        Data(SHA1.digest(Array((text + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))).base64EncodedString()
    }
}
