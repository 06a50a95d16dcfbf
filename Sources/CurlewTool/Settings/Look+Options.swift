extension Look {
    mutating func apply(_ option: Option, value: String, flag: String) throws(UsageError) {
        switch option {
        case .style: theme = Theme.named(value) ?? .auto
        case .formatOptions: try format.apply(value, for: flag)
        case .sorted: format.sortAll(true)
        case .unsorted: format.sortAll(false)
        case .responseCharset:
            guard CharsetDecoder.isKnown(value) else {
                throw UsageError(
                    "\(flag): the charset '\(value)' is not known here",
                    hint: "For instance utf-8, iso-8859-1, shift_jis, gbk, big5.")
            }
            charset = value.lowercased()
        case .responseMIME:
            guard value.contains("/"), !value.contains(where: \.isWhitespace) else {
                throw UsageError("\(flag): '\(value)' is not a media type", hint: "For instance application/json.")
            }
            mediaType = value
        default: break
        }
    }
}
