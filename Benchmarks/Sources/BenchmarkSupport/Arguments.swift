public import Foundation

/// A command line of the form `SCENARIO name=value…`.
public struct Arguments: Sendable {
    public struct Missing: Error, CustomStringConvertible {
        public let description: String

        public init(_ name: String) { description = "missing: \(name)" }
    }

    public let scenario: String
    private var values: [String: String] = [:]

    public init(_ arguments: [String]) {
        scenario = arguments.count > 1 ? arguments[1] : ""
        for argument in arguments.dropFirst(2) {
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            if parts.count == 2 { values[parts[0]] = parts[1] }
        }
    }

    public subscript(name: String) -> String? { values[name] }

    public func text(_ name: String) throws -> String {
        guard let value = values[name] else { throw Missing(name) }
        return value
    }

    public func number(_ name: String, or other: Int) -> Int { values[name].flatMap(Int.init) ?? other }

    public func url(_ name: String = "url") throws -> URL {
        guard let url = URL(string: try text(name)) else { throw Missing(name) }
        return url
    }
}
