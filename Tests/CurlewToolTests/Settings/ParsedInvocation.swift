@testable import CurlewTool

/// Returns the request that a command line describes. Throws if it is another command.
func invocation(_ words: [String], defaults: ParsedArguments = ParsedArguments()) throws -> Invocation {
    guard case .request(let invocation) = try CommandBuilder.command(for: words, defaults: { defaults }) else {
        throw UsageError("not a request: \(words)")
    }
    return invocation
}

func invocation(_ words: String...) throws -> Invocation { try invocation(words) }
