internal import Foundation

/// The default options: those of `config.json`, and `--https` if the command is called `curlews`.
struct DefaultOptions: Sendable {
    /// The path with which the command was called.
    let program: String
    let environment: [String: String]

    /// The configuration file. `nil` if it does not exist.
    var file: String? {
        guard let path = Configuration.file(environment), InputFile.exists(path) else { return nil }
        return path
    }

    func load() throws(UsageError) -> ParsedArguments {
        var defaults = ParsedArguments()
        if let file { defaults = try Configuration(parsing: InputFile.read(file), path: file).defaults }
        if program.split(separator: "/").last == "curlews" { defaults.options.append(GivenOption(option: .https)) }
        return defaults
    }
}
