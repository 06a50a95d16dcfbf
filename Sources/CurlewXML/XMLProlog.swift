internal import Foundation

/// Checks the prolog of a document, which precedes the root element, in advance of any parser. A parser that reads the
/// declaration of an entity may exhaust the memory with its expansion.
struct XMLProlog {
    private var scanner: XMLScanner

    /// Throws if the text is too large, declares entities, attributes or elements, uses an encoding that could hide
    /// such declarations, or contains an element with too many attributes. A document type with only a name and the
    /// location of a DTD is allowed, because the DTD is not loaded.
    static func check(_ data: Data, maximumSize: Int, maximumAttributes: Int) throws(XMLFlaw) {
        guard data.count <= maximumSize else { throw .tooLarge(maximumSize) }
        var prolog = XMLProlog(scanner: XMLScanner(data))
        try prolog.check()
        try XMLAttributes.check(from: prolog.scanner, limit: maximumAttributes)
    }

    private mutating func check() throws(XMLFlaw) {
        if scanner.skip("<?xml") { try checkEncoding(taken(until: "?>")) }
        while true {
            while let unit = scanner.peek, unit == 0x20 || (0x09...0x0D).contains(unit) { _ = scanner.next() }
            if scanner.skip("<!--") {
                _ = try taken(until: "-->")
            } else if scanner.skip("<?") {
                _ = try taken(until: "?>")
            } else if scanner.skip("<!DOCTYPE") {
                try skipDocumentType()
            } else {
                // The root element, or markup that the parser refuses. Text is refused here.
                guard scanner.peek == 0x3C else { throw XMLFlaw.unreadable }
                return
            }
        }
    }

    /// Throws unless bytes of ASCII always mean ASCII in the encoding. In UTF-7 or ISO-2022, the bytes that
    /// end a comment may mean other characters.
    private func checkEncoding(_ declaration: String) throws(XMLFlaw) {
        guard let name = declaration.firstMatch(of: /encoding\s*=\s*["']([^"']*)["']/)?.output.1.lowercased() else {
            return
        }
        let families = ["iso-8859-", "iso_8859-", "windows-", "cp125", "euc-", "koi8-"]
        let names: Set = [
            "utf-8", "utf8", "us-ascii", "ascii", "latin1", "shift_jis", "gb2312", "gbk", "gb18030", "big5",
        ]
        let isKnown =
            scanner.width == 2
            ? name.hasPrefix("utf-16") : names.contains(name) || families.contains { name.hasPrefix($0) }
        guard isKnown else { throw XMLFlaw.encoding(name) }
    }

    private mutating func skipDocumentType() throws(XMLFlaw) {
        let isComplete = try scanner.skipMarkup { unit throws(XMLFlaw) in
            if unit == UInt16(UInt8(ascii: "[")) { throw XMLFlaw.declarations }
        }
        guard isComplete else { throw XMLFlaw.unreadable }
    }

    private mutating func taken(until end: StaticString) throws(XMLFlaw) -> String {
        guard let text = scanner.taken(until: end) else { throw XMLFlaw.unreadable }
        return text
    }
}

/// The reasons why a text is refused.
enum XMLFlaw: Error, CustomStringConvertible {
    case unreadable
    case declarations
    case encoding(String)
    case tooDeep(Int)
    case tooLarge(Int)
    case tooManyAttributes(Int)

    var description: String {
        switch self {
        case .unreadable: "the text before the root element is not XML"
        case .declarations: "the document type declares entities, elements or attributes of its own"
        case .encoding(let name): "the encoding \(name) is not supported"
        case .tooDeep(let limit): "elements are nested more than \(limit) deep"
        case .tooManyAttributes(let limit): "an element has more than \(limit) attributes"
        case .tooLarge(let limit): "the text has more than \(limit) bytes"
        }
    }
}
