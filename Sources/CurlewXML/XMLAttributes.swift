/// The number of attributes of each element, counted before a parser sees them: libxml2 before 2.12 compares each of them
/// with all before it.
struct XMLAttributes {
    private var scanner: XMLScanner
    private let limit: Int

    /// Throws where an element has more than `limit` of them. Everything else that is wrong is for the parser to find.
    static func check(from root: XMLScanner, limit: Int) throws(XMLFlaw) {
        var attributes = XMLAttributes(scanner: root, limit: limit)
        while try attributes.skipMarkup() {}
    }

    /// Up to the next mark-up, and over it. False at the end.
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

    /// Each attribute has a value, and each value has quotes.
    private mutating func skipTag() throws(XMLFlaw) -> Bool {
        var count = 0
        return try scanner.skipMarkup { [limit] unit throws(XMLFlaw) in
            guard XMLScanner.isQuote(unit) else { return }
            count += 1
            if count > limit { throw XMLFlaw.tooManyAttributes(limit) }
        }
    }
}
