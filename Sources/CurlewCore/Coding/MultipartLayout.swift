package import Foundation

/// The layout of a multipart body: the bytes around its parts, and the total length.
///
/// It needs only the headers and lengths of the parts, so that a body of any size can be laid out without reading it.
package struct MultipartLayout: Sendable {
    package struct Part: Sendable {
        package var headers: HTTPHeaders
        package var length: Int64

        package init(headers: HTTPHeaders, length: Int64) {
            self.headers = headers
            self.length = length
        }
    }

    /// The pieces of the body, in the order to send them.
    package enum Piece: Sendable, Equatable {
        /// Delimiters and headers.
        case framing(Data)
        /// The content of the part with this index.
        case content(part: Int)
    }

    package let pieces: [Piece]
    /// `nil` if the sum overflows.
    package let contentLength: Int64?

    /// Throws for a boundary that RFC 2046 does not allow, and for a header that would forge another one.
    package init(boundary: String, parts: [Part]) throws(CurlewError) {
        guard Self.isValid(boundary) else {
            throw CurlewError(.multipartEncodingFailed, phase: .creation, reason: "the boundary is not valid")
        }
        var pieces: [Piece] = []
        var length: Int64? = 0
        for (index, part) in parts.enumerated() {
            let framing = try Self.opening(of: part, boundary: boundary, isFirst: index == 0)
            pieces += [.framing(framing), .content(part: index)]
            length = Self.sum(length, part.length, Int64(framing.count))
        }
        let closing = Data("\(parts.isEmpty ? "" : "\r\n")--\(boundary)--\r\n".utf8)
        pieces.append(.framing(closing))
        self.pieces = pieces
        contentLength = Self.sum(length, 0, Int64(closing.count))
    }

    private static func opening(of part: Part, boundary: String, isFirst: Bool) throws(CurlewError) -> Data {
        var text = "\(isFirst ? "" : "\r\n")--\(boundary)\r\n"
        for header in part.headers {
            guard isWritable(header) else {
                throw CurlewError(
                    .multipartEncodingFailed, phase: .creation, reason: "a part has a header that is not valid")
            }
            text += "\(header.name): \(header.value)\r\n"
        }
        return Data((text + "\r\n").utf8)
    }

    /// Whether a field can be written. `Content-Disposition` may contain NUL, which is harmless in a field of a body. A
    /// line end must not appear in any field.
    private static func isWritable(_ header: HTTPHeader) -> Bool {
        if header.isValid { return true }
        guard header.name.lowercased() == "content-disposition", header.value.utf8.contains(0) else { return false }
        return HTTPHeader(name: header.name, value: header.value.replacing("\0", with: "")).isValid
    }

    private static func sum(_ total: Int64?, _ first: Int64, _ second: Int64) -> Int64? {
        guard let total else { return nil }
        let (partial, overflows) = total.addingReportingOverflow(first)
        let (whole, overflowsAgain) = partial.addingReportingOverflow(second)
        return overflows || overflowsAgain ? nil : whole
    }

    /// The syntax of a boundary (RFC 2046, 5.1.1): 1 to 70 of these characters, the last not a blank.
    private static func isValid(_ boundary: String) -> Bool {
        let bytes = boundary.utf8
        guard (1...70).contains(bytes.count), bytes.last != 0x20 else { return false }
        return bytes.allSatisfy { byte in
            ASCII.isAlpha(byte) || ASCII.isDigit(byte) || "'()+_,-./:=? ".utf8.contains(byte)
        }
    }
}

extension MultipartLayout {
    /// Returns the `Content-Disposition` of a form's part. Names are escaped as browsers do (HTML standard, "multipart
    /// form data"): line ends in a field's name become CRLF first; then CR, LF and `"` are escaped, and nothing else.
    package static func formDisposition(name: String, filename: String? = nil) -> String {
        var text = "form-data; name=\"\(escaped(normalizingLineEnds(name)))\""
        if let filename { text += "; filename=\"\(escaped(filename))\"" }
        return text
    }

    /// Replaces CR, LF and CRLF by CRLF.
    private static func normalizingLineEnds(_ text: String) -> String {
        var result: [UInt8] = []
        var previous: UInt8 = 0
        for byte in text.utf8 {
            switch byte {
            case 0x0D: result += [0x0D, 0x0A]
            case 0x0A: if previous != 0x0D { result += [0x0D, 0x0A] }
            default: result.append(byte)
            }
            previous = byte
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func escaped(_ text: String) -> String {
        var result: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x0D: result += "%0D".utf8
            case 0x0A: result += "%0A".utf8
            case 0x22: result += "%22".utf8
            default: result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
