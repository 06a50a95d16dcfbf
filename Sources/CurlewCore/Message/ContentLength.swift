/// What the `Content-Length` fields of a response say about its framing (RFC 9112, 6.3).
package enum ContentLength {
    /// Why the fields cannot be obeyed; nil where they can, or are libcurl's to judge.
    ///
    /// libcurl takes the last of several lengths, and none at all where the number is too large: either way the body
    /// would end elsewhere than its sender meant.
    package static func problem(in fields: [HTTPHeader]) -> String? {
        var known: Int64?
        for field in fields where field.name.utf8.count == 14 && ASCII.equalsIgnoringCase(field.name, "Content-Length")
        {
            for part in field.value.utf8.split(separator: UInt8(ascii: ",")) {
                let digits = part.drop { isBlank($0) }.prefix { ASCII.isDigit($0) }
                // No number at all is an error of libcurl's own.
                guard !digits.isEmpty else { continue }
                guard let length = number(digits) else { return "Content-Length is above 64 bits" }
                if let known, known != length { return "there are two different Content-Length fields" }
                known = length
            }
        }
        return nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

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
