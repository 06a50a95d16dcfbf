/// The settings of the output.
struct OutputSettings: Equatable, Sendable {
    /// The parts that were asked for. `nil` if they depend on the output: see `effectiveParts`.
    var parts: Set<OutputPart>?
    var printsHops = false
    /// The number of times that `--verbose` was given.
    var verbosity = 0
    var pretty: Pretty?
    var look = Look()
    var isStreaming = false
    /// The file of `--output`.
    var file: String?
    /// Whether `--output -` was given.
    var isStandardOutput = false
    /// 1 mutes the output, 2 also warnings.
    var quietness = 0
    var mode: Mode = .send
    var harFile: String?
    var drawsTiming = false

    enum Mode: Equatable, Sendable { case send, offline, curl }

    /// Returns the file that the output is written to, or `nil` for standard output.
    ///
    /// If a request is only shown, `--output` may name the file that sending it would create: that of a download, or
    /// that of the printed curl command. The request is then shown on standard output.
    func printedFile(isDownload: Bool) -> String? { mode == .curl || isDownload ? nil : file }

    /// Returns the parts to print: those asked for, or the default of the output.
    func effectiveParts(isTerminal: Bool) -> Set<OutputPart> {
        if let parts { return parts }
        switch mode {
        case .offline: return [.requestHead, .requestBody]
        case .send, .curl: return isTerminal ? [.responseHead, .responseBody] : [.responseBody]
        }
    }

    /// Whether the body of the response must be received. With `--quiet` it must, because the exit status tells if it
    /// arrived.
    func needsBody(for parts: Set<OutputPart>) -> Bool {
        quietness > 0 || harFile != nil || drawsTiming || !parts.isDisjoint(with: [.responseBody, .metadata])
    }

    func effectivePretty(isTerminal: Bool, noColorInEnvironment: Bool) -> Pretty {
        let chosen = pretty ?? (isTerminal ? .all : .none)
        return pretty == nil && noColorInEnvironment ? chosen.withoutColors : chosen
    }
}

/// One letter of `--print`.
enum OutputPart: Character, CaseIterable, Sendable {
    case requestHead = "H"
    case requestBody = "B"
    case responseHead = "h"
    case responseBody = "b"
    case metadata = "m"

    static func parse(_ letters: String, for flag: String) throws(UsageError) -> Set<OutputPart> {
        var parts: Set<OutputPart> = []
        for letter in letters {
            guard let part = OutputPart(rawValue: letter) else {
                throw UsageError(
                    "\(flag): '\(letter)' is not one of H, B, h, b, m",
                    hint: "H and B are the request's head and body, h and b the response's, m the metadata."
                )
            }
            parts.insert(part)
        }
        return parts
    }
}

/// The values of `--pretty`.
enum Pretty: String, Equatable, Sendable {
    case all, colors, format, none

    var hasColors: Bool {
        switch self {
        case .all, .colors: true
        case .format, .none: false
        }
    }

    var isFormatted: Bool {
        switch self {
        case .all, .format: true
        case .colors, .none: false
        }
    }

    var withoutColors: Pretty { isFormatted ? .format : .none }
}
