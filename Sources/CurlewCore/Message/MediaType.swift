/// A MIME type with its parameters, parsed and written by the rules of the WHATWG's MIME Sniffing standard.
///
///     let type = MediaType("Text/HTML; charset=utf-8")
///     type?.essence   // "text/html"
///     type?.charset   // "utf-8"
package struct MediaType: Hashable, Sendable {
    /// The type in lower case.
    package let type: String
    /// The subtype in lower case.
    package let subtype: String
    /// The parameters in the order given; every name occurs once.
    public private(set) var parameters: [Parameter]

    /// A parameter `name=value`.
    package struct Parameter: Hashable, Sendable {
        /// The parameter's name in lower case.
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

    /// The value of a parameter, whose name is given in lower case; `nil` if there is none.
    package subscript(parameter name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The parameter `charset`.
    package var charset: String? { self[parameter: "charset"] }

    /// The parameter `boundary`.
    package var boundary: String? { self[parameter: "boundary"] }

    /// Whether this type matches `pattern`, whose type and subtype may be `*`.
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
    /// The text for a header field.
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
