/// Limits the number of attributes per element before a parser sees the text. libxml2 before 2.12 compares every
/// attribute with all attributes before it, so its time grows with the square of their number.
struct XMLAttributes {
    private var scanner: XMLScanner
    private let limit: Int

    /// Throws if an element has more than `limit` attributes. The parser reports all other errors.
    static func check(from root: XMLScanner, limit: Int) throws(XMLFlaw) {
        var attributes = XMLAttributes(scanner: root, limit: limit)
        while try attributes.skipMarkup() {}
    }

    /// Skips the text up to the next markup, and the markup. False at the end.
    private mutating func skipMarkup() throws(XMLFlaw) -> Bool {
        while let unit = scanner.next() {
            guard unit == UInt16(UInt8(ascii: "<")) else { continue }
            if scanner.skip("!--") { return scanner.skip(until: "-->") }
            if scanner.skip("![CDATA[") { return scanner.skip(until: "]]>") }
            if scanner.skip("?") { return scanner.skip(until: "?>") }
            return try skipTag()
        }
        return false
    }

    /// Skips a tag. Counts opening quotes, because every attribute has a value and every value is quoted.
    private mutating func skipTag() throws(XMLFlaw) -> Bool {
        var count = 0
        return try scanner.skipMarkup { [limit] unit throws(XMLFlaw) in
            guard XMLScanner.isQuote(unit) else { return }
            count += 1
            if count > limit { throw XMLFlaw.tooManyAttributes(limit) }
        }
    }
}
