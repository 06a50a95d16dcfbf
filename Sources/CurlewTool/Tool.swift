internal import Curlew
internal import Foundation

/// The `curlew` command.
@main
struct Tool {
    static func main() {
        StandardDescriptors.occupy()
        // A closed pipe becomes an error of `write`. The signal would end the process.
        signal(SIGPIPE, SIG_IGN)
        let context = ToolContext.current()
        do throws(UsageError) {
            let defaults = DefaultOptions(
                program: CommandLine.arguments.first ?? "", environment: context.environment)
            let words = Array(CommandLine.arguments.dropFirst())
            let command = try CommandBuilder.command(for: words) { () throws(UsageError) in try defaults.load() }
            // Texts are written without starting the threads of Swift concurrency.
            if let text = try text(for: command, context: context) {
                end(with: status(context) { try context.output.write(text) })
            }
            if case .request(let invocation) = command, invocation.isDebugging {
                try? context.errors.write(DebugText.setup(defaults, context: context))
            }
            Task { @concurrent in end(with: await run(command, context: context)) }
            // The task ends the process. `dispatchMain` would unwind this thread's stack without the address sanitizer
            // knowing, which then reports every signal that this thread handles.
            while true { pause() }
        } catch {
            end(with: status(context) { throw error })
        }
    }

    /// Returns the text of a command that prints only a text. `nil` for requests and the cache.
    private static func text(for command: Command, context: ToolContext) throws(UsageError) -> String? {
        switch command {
        case .request, .cache: nil
        case .help(let topic): try help(topic, context: context)
        case .man: ManPage.text(version: CurlewInfo.version)
        case .completions(let shell): Completions.script(for: shell)
        case .version: VersionText.text(Capabilities.current)
        }
    }

    private static func run(_ command: Command, context: ToolContext) async -> ExitStatus {
        do {
            switch command {
            case .request(let invocation): return try await RequestCommand(invocation, context: context).run()
            case .cache(let command): try await CacheCommandRun(command: command, context: context).run()
            case .help, .man, .completions, .version: break
            }
            return .success
        } catch {
            return status(context) { throw error }
        }
    }

    /// Does the work, and reports its failure.
    private static func status(_ context: ToolContext, _ work: () throws -> Void) -> ExitStatus {
        do {
            try work()
            return .success
        } catch {
            let failure = ToolFailure(error)
            failure.report(to: context)
            return failure.status
        }
    }

    private static func end(with status: ExitStatus) -> Never {
        if status == .brokenPipe {
            signal(SIGPIPE, SIG_DFL)
            raise(SIGPIPE)
        }
        // `_exit` instead of `exit`: no exit handler is needed, and other threads may still be running.
        fflush(nil)
        _exit(status.rawValue)
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

/// Runs a command that sends requests: an exchange, a WebSocket, downloads, or a repeated run.
private struct RequestCommand: Sendable {
    let invocation: Invocation
    let context: ToolContext

    init(_ invocation: Invocation, context: ToolContext) {
        self.invocation = invocation
        self.context = context
    }

    func run() async throws -> ExitStatus {
        if invocation.download != nil, invocation.output.mode == .send {
            return try await DownloadRun(invocation: invocation, context: context).run()
        }
        if invocation.repeats, invocation.output.mode == .send {
            return try await RepeatRun(invocation: invocation, context: context).run()
        }
        let preparation = try Preparation(invocation, context: context)
        if invocation.isWebSocket { return try await WebSocketRun(preparation: preparation, context: context).run() }
        let exchange = ExchangeRun(preparation: preparation, context: context)
        // Set up before the work begins, so that a request can be interrupted from the start.
        let interruption = await Interruption()
        defer { withExtendedLifetime(interruption) {} }
        let work = Task { try await exchange.run() }
        interruption.answer { work.cancel() }
        do {
            return try await work.value
        } catch {
            if work.isCancelled { throw ToolFailure.interrupted }
            throw error
        }
    }
}
