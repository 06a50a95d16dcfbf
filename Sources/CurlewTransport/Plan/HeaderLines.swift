internal import CurlewCore

/// Formats header fields for libcurl. A field that could forge a second one is rejected.
enum HeaderLines {
    /// Only the transport sets the fields of framing: a caller's value could contradict the body that is sent.
    private static func isFraming(_ name: String) -> Bool {
        switch name.utf8.count {
        case 14: ASCII.equalsIgnoringCase(name, "Content-Length")
        case 17: ASCII.equalsIgnoringCase(name, "Transfer-Encoding")
        default: false
        }
    }

    static func lines(of headers: HTTPHeaders, where isWanted: (String) -> Bool = { _ in true })
        throws(CurlewError) -> [String]
    {
        var lines: [String] = []
        lines.reserveCapacity(headers.count + 2)
        for field in headers {
            guard field.isValid else { throw CurlewError.invalidHeader(field) }
            if isFraming(field.name) || !isWanted(field.name) { continue }
            lines.append(line(of: field))
        }
        return lines
    }

    /// `Name;` is libcurl's form of a field with an empty value. `Name:` would remove the field.
    private static func line(of field: HTTPHeader) -> String {
        let isBlank = field.value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
        return isBlank ? field.name + ";" : field.name + ": " + field.value
    }
}
