/// Checks that the `Content-Length` fields of a response define its framing (RFC 9112, 6.3).
package enum ContentLength {
    /// Returns the reason why the fields cannot be followed; `nil` if they can.
    ///
    /// A list that repeats one number counts as that number. libcurl uses the last of several lengths, reads a number
    /// up to the first byte that is not a digit, and ignores a number that is too large. In each case the body would
    /// not end at the byte that its sender meant.
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
