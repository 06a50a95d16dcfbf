internal import Curlew
internal import Foundation

/// `SCENARIO name=value…`
struct Arguments {
    struct Missing: Error, CustomStringConvertible {
        let description: String

        init(_ name: String) { description = "missing: \(name)" }
    }

    let scenario: String
    private var values: [String: String] = [:]

    init(_ arguments: [String]) {
        scenario = arguments.count > 1 ? arguments[1] : ""
        for argument in arguments.dropFirst(2) {
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            if parts.count == 2 { values[parts[0]] = parts[1] }
        }
    }

    func text(_ name: String) throws -> String {
        guard let value = values[name] else { throw Missing(name) }
        return value
    }

    func number(_ name: String, or other: Int) -> Int { values[name].flatMap(Int.init) ?? other }

    func url() throws -> URL {
        guard let url = URL(string: try text("url")) else { throw Missing("url") }
        return url
    }

    /// A session without a proxy, which trusts the roots of `ca`.
    func session() -> Session {
        let roots = values["ca"]
        return Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                if let roots { $0.tls.trustRoots = .file(URL(fileURLWithPath: roots)) }
            }
        )
    }
}
