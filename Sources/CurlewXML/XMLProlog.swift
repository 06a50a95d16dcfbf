internal import Foundation

/// What stands before the root element, read before any parser sees it: a parser that meets the declaration of an entity
/// may fill the memory with it.
struct XMLProlog {
    private var scanner: XMLScanner

    /// Throws where the text is too large, declares entities, attributes or elements of its own, is in an encoding that could hide
    /// that, or has an element with too many attributes. A document type alone, with a name and where its DTD would be, may stay:
    /// that DTD is not loaded.
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
                // The root, or what the parser will complain about.
                guard scanner.peek == 0x3C else { throw XMLFlaw.unreadable }
                return
            }
        }
    }

    /// Only these keep apart what is ASCII and what is not: in UTF-7 or ISO-2022 a comment's end may be none.
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

/// Why a text is not made into a tree.
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
