internal import Curlew
internal import Foundation

/// One request whose answer is printed.
struct ExchangeRun: Sendable {
    let preparation: Preparation
    let context: ToolContext

    private var invocation: Invocation { preparation.invocation }
    private var plan: RequestPlan { preparation.plan }

    func run() async throws -> ExitStatus {
        var context = context
        context.quietness = invocation.output.quietness
        let output = try destination()
        let isTerminal = context.terminal.isOutput && invocation.output.file == nil
        var parts = invocation.output.effectiveParts(isTerminal: isTerminal)
        if invocation.output.quietness > 0, invocation.output.file == nil { parts = [] }
        let pretty = invocation.output.effectivePretty(
            isTerminal: isTerminal,
            noColorInEnvironment: context.terminal.noColor
        )
        let printer = ExchangePrinter(
            parts: parts,
            target: BodyFormatter.Target(isTerminal: isTerminal, pretty: pretty),
            output: output
        )
        switch invocation.output.mode {
        case .curl:
            let command = CurlCommand(
                plan: plan,
                invocation: invocation,
                auth: preparation.isAuthInHeader ? nil : preparation.auth
            )
            try output.write(command.text(isMultiline: isTerminal) + "\n")
            return .success
        case .offline:
            var printer = printer
            try printRequest(&printer)
            return .success
        case .send:
            return try await send(SharedPrinter(printer), context: context)
        }
    }

    private func destination() throws -> OutputFile {
        guard let path = invocation.output.file else { return context.output }
        do throws(OutputFile.Failure) {
            return try OutputFile.create(InputFile.expanded(path))
        } catch {
            throw UsageError("cannot write \(path): \(error.text)")
        }
    }

    private func printRequest(_ printer: inout ExchangePrinter) throws {
        guard !printer.parts.isDisjoint(with: [.requestHead, .requestBody]) else { return }
        let encodings = plan.suppressedHeaders.contains("accept-encoding") ? nil : AcceptedEncodings.value
        var head = plan.head(bodyLength: try plan.bodyLength(), acceptEncoding: encodings)
        head.show(invocation, body: plan.body)
        let wantsBody = printer.parts.contains(.requestBody)
        try printer.request(
            head,
            body: wantsBody ? try plan.bodyPreview() : nil,
            contentType: plan.header("Content-Type")
        )
    }

    private func send(_ printer: SharedPrinter, context: ToolContext) async throws -> ExitStatus {
        try await printer.use { try printRequest(&$0) }
        let session = Session(
            configuration: try SessionConfiguration(invocation, suppressing: plan.suppressedHeaders),
            redirectHandler: HopPrinter(
                follows: invocation.network.follows,
                printer: invocation.output.printsHops ? printer : nil
            )
        )
        let sending = Sending(preparation: preparation, session: session)
        var recorder = ExchangeRecorder(isNeeded: invocation.output.harFile != nil)
        let began = Date()
        let outcome = try await sending.perform { event in
            switch event {
            case .head(let head):
                recorder.head(head)
                try await printer.use {
                    try $0.response(
                        version: head.version.rawValue,
                        status: head.status,
                        reason: head.reason,
                        headers: head.headers.map { HeaderField($0.name, $0.value) }
                    )
                }
            case .bytes(let data):
                recorder.body(data)
                try await printer.use { try $0.body(data) }
            }
        }
        let facts = ExchangeFacts.rows(outcome.metrics, elapsed: Date().timeIntervalSince(began))
        try await printer.use {
            try $0.endBody()
            try $0.metadata(facts)
        }
        try finish(outcome, recorder: recorder, context: context)
        return invocation.network.checksStatus
            ? ExitStatus.checking(outcome.head.status, follows: invocation.network.follows) : .success
    }

    private func finish(_ outcome: Sending.Outcome, recorder: ExchangeRecorder, context: ToolContext) throws {
        if invocation.output.drawsTiming, let metrics = outcome.metrics {
            let chart = TimingChart(palette: context.errorPalette, hasUnicode: context.terminal.hasUnicode)
            let width = Terminal.size(of: context.errors.descriptor).columns
            try? context.errors.write(chart.render(TimingPhases(metrics), width: width))
        }
        if let path = invocation.output.harFile {
            try recorder.write(to: path, plan: plan, metrics: outcome.metrics)
        }
        try SessionUpdate(preparation: preparation).store(outcome)
        if invocation.network.checksStatus, outcome.head.status >= 400 {
            context.warn("HTTP \(outcome.head.status) \(outcome.head.reason)")
        }
    }
}
