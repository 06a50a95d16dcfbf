internal import Foundation

/// The options that count before the command line is read: those of `config.json`, and what the program's name says.
struct DefaultOptions: Sendable {
    /// How the command was called: `curlews` is for https.
    let program: String
    let environment: [String: String]

    /// The configuration file, if it is there.
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
