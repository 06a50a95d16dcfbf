internal import CurlewCore
internal import Foundation

/// Removes secrets from a multipart body (RFC 2046, 5.1), and keeps everything else byte for byte.
struct MultipartRedaction {
    let redaction: CassetteRedaction
    let isSent: Bool
    /// The number of multipart bodies around this one.
    let depth: Int

    /// The limit on nesting. Without it, the length of a body alone would bound the recursion.
    private static let greatestDepth = 8
    private static let replacement = Array(CassetteRedaction.replacement.utf8)
    private static let (lineFeed, carriageReturn) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))

    /// Returns the body without secrets; `nil` if it has no parts or they are nested too deeply. A truncated part
    /// extends to the end of the bytes.
    func redacted(_ bytes: [UInt8], type: String) -> [UInt8]? {
        guard depth <= Self.greatestDepth, let boundary = Self.boundary(of: bytes, type: type) else { return nil }
        let delimiter = Array("--\(boundary)".utf8)
        var clean: [UInt8] = []
        var start: Int?
        var hasParts = false
        var position = 0
        while position < bytes.count {
            let end = Self.lineEnd(bytes[position...])
            let line = bytes[position..<end]
            if let tail = Self.tail(of: line, behind: delimiter) {
                if let start {
                    // The line end before a delimiter belongs to the delimiter.
                    let last = position - Self.lengthOfLineEnd(bytes[start..<position])
                    clean += part(bytes[start..<last]) + bytes[last..<position]
                }
                clean += line
                start = tail == .closing ? nil : end
                hasParts = true
            } else if start == nil {
                clean += line
            }
            position = end
        }
        if let start { clean += part(bytes[start...]) }
        return hasParts ? clean : nil
    }

    // MARK: Parts

    /// Redacts the bytes between two delimiters: fields, an empty line, content.
    private func part(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var fields: [HTTPHeader] = []
        var position = bytes.startIndex
        while position < bytes.endIndex {
            let end = Self.lineEnd(bytes[position...])
            let line = bytes[position..<end].dropLast(Self.lengthOfLineEnd(bytes[position..<end]))
            position = end
            if line.isEmpty, end > bytes.startIndex {
                let head = String(decoding: bytes[..<end], as: UTF8.self)
                let clean = redaction.pairs(head)
                let kept = clean == head ? Array(bytes[..<end]) : Array(clean.utf8)
                return kept + content(bytes[end...], HTTPHeaders(received: fields))
            }
            Self.add(line, to: &fields)
        }
        // Without an empty line, the fields and the content cannot be told apart.
        return bytes.isEmpty ? [] : Self.replacement
    }

    private func content(_ bytes: ArraySlice<UInt8>, _ fields: HTTPHeaders) -> [UInt8] {
        let name = fields["Content-Disposition"].flatMap { TestServer.Request.parameter("name", of: $0) } ?? ""
        if !bytes.isEmpty, redaction.isSecret(name) { return Self.replacement }
        let type = fields["Content-Type"] ?? ""
        guard fields["Content-Transfer-Encoding"]?.lowercased() == "base64",
            let data = Data(base64Encoded: Data(bytes), options: .ignoreUnknownCharacters)
        else { return content(Data(bytes), type, hasName: !name.isEmpty) }
        let clean = content(data, type, hasName: !name.isEmpty)
        return clean.elementsEqual(data) ? Array(bytes) : Array(Data(clean).base64EncodedString().utf8)
    }

    /// Redacts a part's content. A part with a name is treated like a form field; one without is treated like a whole
    /// body.
    private func content(_ data: Data, _ type: String, hasName: Bool) -> [UInt8] {
        Cassette.Body(data).map {
            Array(redaction.body($0, type: type, isSent: isSent && !hasName, depth: depth + 1).data)
        } ?? []
    }

    private static func add(_ line: ArraySlice<UInt8>, to fields: inout [HTTPHeader]) {
        if line.first.map(ASCII.isBlank) == true, let last = fields.popLast() {
            fields.append(HTTPHeader(name: last.name, value: last.value + String(decoding: line, as: UTF8.self)))
        } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            // Splits by bytes, because a combining mark would form one `Character` with the colon before it.
            let value = String(decoding: line[(colon + 1)...], as: UTF8.self).trimmingCharacters(in: .whitespaces)
            fields.append(HTTPHeader(name: String(decoding: line[..<colon], as: UTF8.self), value: value))
        }
    }

    // MARK: Lines

    private enum Tail { case opening, closing }

    /// Returns the boundary that the type names, otherwise the one at the start of the body.
    private static func boundary(of bytes: [UInt8], type: String) -> String? {
        var boundary = TestServer.Request.parameter("boundary", of: type) ?? ""
        if boundary.isEmpty, bytes.starts(with: "--".utf8) {
            boundary = String(decoding: bytes[2..<lineEnd(bytes[...])], as: UTF8.self)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
        return boundary.isEmpty ? nil : boundary
    }

    /// Returns the kind of delimiter; `nil` if the line is not one.
    private static func tail(of line: ArraySlice<UInt8>, behind delimiter: [UInt8]) -> Tail? {
        guard line.starts(with: delimiter) else { return nil }
        let rest = line.dropFirst(delimiter.count)
        let isClosing = rest.starts(with: "--".utf8)
        let isAll = rest.dropFirst(isClosing ? 2 : 0).allSatisfy(CassetteRedaction.isSpace)
        return isAll ? (isClosing ? .closing : .opening) : nil
    }

    /// Returns the end of the first line. `bytes` is not empty.
    private static func lineEnd(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.firstIndex(of: lineFeed).map { $0 + 1 } ?? bytes.endIndex
    }

    private static func lengthOfLineEnd(_ bytes: ArraySlice<UInt8>) -> Int {
        guard bytes.last == lineFeed else { return 0 }
        return bytes.dropLast().last == carriageReturn ? 2 : 1
    }
}
