internal import Curlew
internal import Foundation

/// The `curlew` command.
@main
struct Tool {
    static func main() async {
        // A closed pipe is an error of a write, not a signal.
        signal(SIGPIPE, SIG_IGN)
        let status = await run(Array(CommandLine.arguments.dropFirst()))
        if status == .brokenPipe {
            signal(SIGPIPE, SIG_DFL)
            raise(SIGPIPE)
        }
        // Not exit(): nothing is left to do, and other threads may still be about.
        fflush(nil)
        _exit(status.rawValue)
    }

    private static func run(_ words: [String]) async -> ExitStatus {
        let context = ToolContext.current()
        do {
            switch try CommandBuilder.command(for: words) {
            case .request(let invocation): return try await RequestCommand(invocation, context: context).run()
            case .help(let topic): try context.output.write(try help(topic, context: context))
            case .man: try context.output.write(ManPage.text(version: ToolContext.version))
            case .completions(let shell): try context.output.write(Completions.script(for: shell))
            case .version: try context.output.write(VersionText.text(Capabilities.current))
            }
            return .success
        } catch {
            let failure = ToolFailure(error)
            failure.report(to: context)
            return failure.status
        }
    }

    private static func help(_ topic: String?, context: ToolContext) throws(UsageError) -> String {
        let width = context.terminal.isOutput ? Terminal.size(of: STDOUT_FILENO).columns : 80
        guard let topic else { return HelpText.overview(width: width) }
        if let page = Topics.topic(topic) { return page.text(width: width) }
        let name = String(topic.drop { $0 == "-" })
        if let spec = OptionTable.spec(long: name) ?? name.first.flatMap(OptionTable.spec(short:)),
            name == spec.name
                || name.count == 1
        {
            return HelpText.option(spec, width: width)
        }
        let names = Topics.all.map(\.name)
        let closest = Suggestion.closest(to: topic, in: names + OptionTable.all.map(\.name))
        throw UsageError(
            "there is no help about '\(topic)'",
            hint: closest.map { "Did you mean '\($0)'?" } ?? "Topics: \(names.joined(separator: ", "))"
        )
    }
}
