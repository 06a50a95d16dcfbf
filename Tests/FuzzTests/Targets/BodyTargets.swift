#if !FUZZING
@testable internal import Curlew
@testable internal import CurlewCore
internal import Foundation
#else
import Foundation
#endif

extension FuzzTarget {
    static let bodies = [
        FuzzTarget("multipart-layout") { input throws(BrokenProperty) in
            let (boundary, rest) = input.headAndRest
            let parts = rest.split(separator: 0x1E).map { part -> (disposition: String, content: ArraySlice<UInt8>) in
                let fields = part.split(separator: 0x1F, maxSplits: 1)
                let name = String(decoding: fields.first ?? [], as: UTF8.self)
                return (MultipartLayout.formDisposition(name: name, filename: name), fields.last ?? [])
            }
            for part in parts {
                // This field is a part of a body, in which a NUL is allowed and sent unchanged.
                let text = part.disposition.replacing("\0", with: "")
                try require(text.isHTTPFieldValue, "no name ends the header that it stands in")
                try require(part.disposition.utf8.filter { $0 == 0x22 }.count, equals: 4, "no name ends its quotes")
            }
            let layout = try? MultipartLayout(
                boundary: boundary,
                parts: parts.map {
                    .init(headers: ["Content-Disposition": $0.disposition], length: Int64($0.content.count))
                })
            guard let layout else { return }
            var body: [UInt8] = []
            for piece in layout.pieces {
                switch piece {
                case .framing(let data): body += data
                case .content(let part): body += parts[part].content
                }
            }
            try require(layout.contentLength, equals: Int64(body.count), "the length is that of the bytes")
            try require(body.starts(with: "--\(boundary)".utf8), "a body begins with its boundary")
            try require(body.reversed().starts(with: "--\(boundary)--\r\n".utf8.reversed()), "and ends with it")
        },
        FuzzTarget("form-encoding") { input throws(BrokenProperty) in
            // The lines are keys and values in turn.
            let lines = input.lines
            var pairs: [String: String] = [:]
            for index in stride(from: 0, to: lines.count - 1, by: 2) { pairs[lines[index]] = lines[index + 1] }
            for space in [URLEncodedFormEncoder.SpaceEncoding.percentEscaped, .plusReplaced] {
                let text: String? = try? URLEncodedFormEncoder(spaceEncoding: space).encode(pairs)
                guard let text else { throw BrokenProperty(description: "strings can be encoded") }
                try require(text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a form is printable ASCII")
                var read: [String: String] = [:]
                for pair in text.split(separator: "&") {
                    let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                        decoded(String($0.replacing("+", with: " ")))
                    }
                    guard sides.count == 2, let key = sides[0], let value = sides[1] else {
                        throw BrokenProperty(description: "a form has pairs")
                    }
                    read[key] = value
                }
                try require(read, equals: pairs, "a form is read as it was written")
            }
        },
        FuzzTarget("resume-data") { input throws(BrokenProperty) in
            guard let resume = try? ResumeData(input.data) else { return }
            try require(resume.bytesWritten >= 0, "nothing is counted below zero")
            try require(resume.file.hasPrefix("/"), "a file has a full path")
            try require(resume.headers.allSatisfy(\.isValid), "headers can be sent")
            try require(
                try? ResumeData(resume.encoded), equals: resume, "resume data is read as it was written")
        },
    ]

    /// Decodes percent escapes. Foundation's `removingPercentEncoding` would drop a byte order mark at the beginning.
    private static func decoded(_ text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
