internal import Curlew

/// Writes each message as a line. On a terminal, unsafe characters are escaped, and binary data is replaced with its
/// size.
struct MessagePrinter: Sendable {
    let target: BodyFormatter.Target
    let output: OutputFile

    func write(_ message: WebSocketMessage) throws(OutputFile.Failure) {
        switch message {
        case .text(let text): try write(Array(text.utf8))
        case .data(let data):
            let bytes = Array(data)
            if target.isTerminal, BinaryNotice.isBinary(bytes) || String(validating: bytes, as: UTF8.self) == nil {
                try output.write("(binary message of \(Amount.bytes(Int64(bytes.count))))\n")
            } else {
                try write(bytes)
            }
        }
    }

    private func write(_ bytes: [UInt8]) throws(OutputFile.Failure) {
        let first = bytes.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        let isJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        var formatter = BodyFormatter(kind: MediaKind(contentType: isJSON ? "text/json" : nil), target: target)
        var out: [UInt8] = []
        formatter.feed(bytes, into: &out)
        formatter.finish(into: &out)
        // On a terminal the formatter has already ended the line, unless the message was empty.
        if !target.isTerminal || out.last != 0x0A { out.append(0x0A) }
        try output.write(out)
    }
}
