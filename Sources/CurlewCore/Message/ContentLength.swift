/// What the `Content-Length` fields of a response say about its framing (RFC 9112, 6.3).
package enum ContentLength {
    /// Why the fields cannot be obeyed; `nil` if they can.
    ///
    /// A list of one number several times counts as that number. libcurl takes the last of several lengths, reads a number
    /// up to the first byte that is no digit, and ignores one that is too large: the body would end elsewhere than its
    /// sender meant.
    package static func problem(in fields: [HTTPHeader]) -> String? {
        var known: Int64?
        for field in fields where field.name.utf8.count == 14 && ASCII.equalsIgnoringCase(field.name, "Content-Length")
        {
            for part in field.value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                let text = part.drop(while: ASCII.isBlank)
                let digits = text.prefix(while: ASCII.isDigit)
                guard !digits.isEmpty, text[digits.endIndex...].allSatisfy(ASCII.isBlank) else {
                    return "Content-Length is not a number"
                }
                guard let length = number(digits) else { return "Content-Length is above 64 bits" }
                if let known, known != length { return "there are two different Content-Length fields" }
                known = length
            }
        }
        return nil
    }

    private static func number(_ digits: some Sequence<UInt8>) -> Int64? {
        var number: Int64 = 0
        for digit in digits {
            let (tens, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowsToo) = tens.addingReportingOverflow(Int64(digit - 0x30))
            if overflows || overflowsToo { return nil }
            number = sum
        }
        return number
    }
}
