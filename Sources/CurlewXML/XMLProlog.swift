internal import Foundation

/// What stands before the root element, read before any parser sees it: a parser that meets the declaration of an entity
/// may fill the memory with it.
struct XMLProlog {
    private let bytes: Data
    /// Bytes of one unit: 1, or 2 where the text is UTF-16.
    private let width: Int
    private let isBigEndian: Bool
    private var position: Int

    /// Throws where the text declares entities, attributes or elements of its own, or is in an encoding that could hide
    /// that. A document type alone, with a name and where its DTD would be, may stay: that DTD is not loaded.
    static func check(_ data: Data) throws {
        var prolog = XMLProlog(data)
        try prolog.check()
    }

    private init(_ data: Data) {
        bytes = data
        let start = Array(data.prefix(4))
        switch (start.first, start.dropFirst().first) {
        case (0xFE, 0xFF): (width, isBigEndian, position) = (2, true, 2)
        case (0xFF, 0xFE): (width, isBigEndian, position) = (2, false, 2)
        case (0x00, 0x3C): (width, isBigEndian, position) = (2, true, 0)
        case (0x3C, 0x00): (width, isBigEndian, position) = (2, false, 0)
        default: (width, isBigEndian, position) = (1, true, start.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
        }
    }

    private mutating func check() throws {
        if skip("<?xml") { try checkEncoding(taken(until: "?>")) }
        while true {
            while let unit = unit(at: position), unit == 0x20 || (0x09...0x0D).contains(unit) { position += width }
            if skip("<!--") {
                _ = try taken(until: "-->")
            } else if skip("<?") {
                _ = try taken(until: "?>")
            } else if skip("<!DOCTYPE") {
                try skipDocumentType()
            } else {
                // The root, or what the parser will complain about.
                guard unit(at: position) == 0x3C else { throw XMLFlaw.unreadable }
                return
            }
        }
    }

    /// Only these keep apart what is ASCII and what is not: in UTF-7 or ISO-2022 a comment's end may be none.
    private func checkEncoding(_ declaration: String) throws {
        guard let name = declaration.firstMatch(of: /encoding\s*=\s*["']([^"']*)["']/)?.output.1.lowercased() else {
            return
        }
        let families = ["iso-8859-", "iso_8859-", "windows-", "cp125", "euc-", "koi8-"]
        let names: Set = [
            "utf-8", "utf8", "us-ascii", "ascii", "latin1", "shift_jis", "gb2312", "gbk", "gb18030", "big5",
        ]
        let isKnown =
            width == 2 ? name.hasPrefix("utf-16") : names.contains(name) || families.contains { name.hasPrefix($0) }
        guard isKnown else { throw XMLFlaw.encoding(name) }
    }

    private mutating func skipDocumentType() throws {
        var quote: UInt16?
        while let unit = unit(at: position) {
            position += width
            if let open = quote {
                if unit == open { quote = nil }
            } else if unit == 0x22 || unit == 0x27 {
                quote = unit
            } else if unit == UInt16(UInt8(ascii: "[")) {
                throw XMLFlaw.declarations
            } else if unit == UInt16(UInt8(ascii: ">")) {
                return
            }
        }
        throw XMLFlaw.unreadable
    }

    private mutating func skip(_ text: StaticString) -> Bool {
        let end = position + text.utf8CodeUnitCount * width
        guard matches(text, at: position) else { return false }
        position = end
        return true
    }

    /// What stands before `end`, which is skipped as well.
    private mutating func taken(until end: StaticString) throws -> String {
        var text: [UInt16] = []
        while let unit = unit(at: position) {
            if matches(end, at: position) {
                position += end.utf8CodeUnitCount * width
                return String(decoding: text, as: UTF16.self)
            }
            text.append(unit)
            position += width
        }
        throw XMLFlaw.unreadable
    }

    private func matches(_ text: StaticString, at start: Int) -> Bool {
        text.withUTF8Buffer { text in
            text.indices.allSatisfy { unit(at: start + $0 * width) == UInt16(text[$0]) }
        }
    }

    /// nil at the end.
    private func unit(at position: Int) -> UInt16? {
        guard position + width <= bytes.count else { return nil }
        let first = bytes[bytes.startIndex + position]
        guard width == 2 else { return UInt16(first) }
        let second = bytes[bytes.startIndex + position + 1]
        return isBigEndian ? UInt16(first) << 8 | UInt16(second) : UInt16(second) << 8 | UInt16(first)
    }
}

/// Why a text is not made into a tree.
enum XMLFlaw: Error, CustomStringConvertible {
    case unreadable
    case declarations
    case encoding(String)
    case tooDeep(Int)
    case tooLarge(Int)

    var description: String {
        switch self {
        case .unreadable: "the text before the root element is not XML"
        case .declarations: "the document type declares entities, elements or attributes of its own"
        case .encoding(let name): "the encoding \(name) is not supported"
        case .tooDeep(let limit): "elements are nested more than \(limit) deep"
        case .tooLarge(let limit): "the text has more than \(limit) bytes"
        }
    }
}
