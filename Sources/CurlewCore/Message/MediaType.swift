/// A MIME type with its parameters, read and written as the WHATWG's MIME Sniffing standard says.
///
///     let type = MediaType("Text/HTML; charset=utf-8")
///     type?.essence   // "text/html"
///     type?.charset   // "utf-8"
package struct MediaType: Hashable, Sendable {
    /// Lower case.
    package let type: String
    /// Lower case.
    package let subtype: String
    /// In the order given; a name stands once.
    public private(set) var parameters: [Parameter]

    /// `name=value`, the name in lower case.
    package struct Parameter: Hashable, Sendable {
        /// The parameter's name, in small letters.
        package let name: String
        /// The parameter's value, without quotes.
        package let value: String
    }

    init(type: String, subtype: String, parameters: [Parameter]) {
        self.type = type
        self.subtype = subtype
        self.parameters = parameters
    }

    /// `type/subtype`, without the parameters.
    package var essence: String { "\(type)/\(subtype)" }

    /// The value of a parameter; `name` in lower case.
    package subscript(parameter name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The parameter `charset`.
    package var charset: String? { self[parameter: "charset"] }

    /// The parameter `boundary`.
    package var boundary: String? { self[parameter: "boundary"] }

    /// Whether `pattern`, whose type and subtype may be `*`, takes this type in.
    package func matches(_ pattern: MediaType) -> Bool {
        (pattern.type == "*" || pattern.type == type) && (pattern.subtype == "*" || pattern.subtype == subtype)
    }

    mutating func set(_ name: String, to value: String) {
        let parameter = Parameter(name: name, value: value)
        if let index = parameters.firstIndex(where: { $0.name == name }) {
            parameters[index] = parameter
        } else {
            parameters.append(parameter)
        }
    }
}

extension MediaType: CustomStringConvertible {
    /// As it goes into a header.
    package var description: String {
        parameters.reduce(into: essence) { text, parameter in
            text += ";\(parameter.name)="
            text += parameter.value.isHTTPToken ? parameter.value : Self.quoted(parameter.value)
        }
    }

    private static func quoted(_ value: String) -> String {
        var text = "\""
        for scalar in value.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { text.unicodeScalars.append("\\") }
            text.unicodeScalars.append(scalar)
        }
        return text + "\""
    }
}
