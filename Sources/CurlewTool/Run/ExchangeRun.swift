internal import Curlew
internal import Foundation

/// Runs one request and prints its response.
struct ExchangeRun: Sendable {
    let preparation: Preparation
    let context: ToolContext

    private var invocation: Invocation { preparation.invocation }
    private var plan: RequestPlan { preparation.plan }

    func run() async throws -> ExitStatus {
        var context = context
        context.quietness = invocation.output.quietness
        let file = invocation.output.printedFile(isDownload: invocation.download != nil)
        let destination = try OutputDestination(path: file, otherwise: context.output)
        let isTerminal = context.terminal.isOutput && file == nil
        var parts = invocation.output.effectiveParts(isTerminal: isTerminal)
        if invocation.output.quietness > 0, file == nil { parts = [] }
        let pretty = invocation.output.effectivePretty(
            isTerminal: isTerminal,
            noColorInEnvironment: context.terminal.noColor
        )
        var look = invocation.output.look
        look.isLive = invocation.output.isStreaming
        let printer = ExchangePrinter(
            parts: parts,
            target: BodyFormatter.Target(isTerminal: isTerminal, pretty: pretty, look: look),
            destination: destination
        )
        switch invocation.output.mode {
        case .curl:
            let command = CurlCommand(
                plan: plan,
                invocation: invocation,
                auth: preparation.isAuthInHeader ? nil : preparation.auth
            )
            try destination.begin().write(command.text(isMultiline: isTerminal) + "\n")
            return .success
        case .offline:
            var printer = printer
            try printer.begin()
            try printRequest(&printer)
            return .success
        case .send:
            return try await send(SharedPrinter(printer, preparation), printer.parts, context: context)
        }
    }

    private func printRequest(_ printer: inout ExchangePrinter) throws {
        guard !printer.parts.isDisjoint(with: [.requestHead, .requestBody]) else { return }
        let encodings = plan.suppressedHeaders.contains("accept-encoding") ? nil : AcceptedEncodings.value
        var head = plan.head(bodyLength: try plan.bodyLength(), acceptEncoding: encodings)
        head.show(invocation, isCompressed: preparation.compressesBody)
        if let url = URL(string: plan.url), let cookies = preparation.jar?.cookies(for: url), !cookies.isEmpty {
            head.headers.append(HeaderField("Cookie", cookies.map(\.pair).joined(separator: "; ")))
        }
        let wantsBody = printer.parts.contains(.requestBody)
        try printer.request(
            head,
            body: wantsBody ? try plan.bodyPreview() : nil,
            contentType: plan.header("Content-Type")
        )
    }

    private func send(
        _ printer: SharedPrinter,
        _ parts: Set<OutputPart>,
        context: ToolContext
    ) async throws -> ExitStatus {
        try await printer.use { try printRequest(&$0) }
        let recorder = invocation.output.harFile.map { _ in HARRecorder(maximumBodySize: Self.recordedBodySize) }
        let debugLog = DebugLog(invocation, context: context)
        var configuration = try SessionConfiguration(preparation)
        configuration.cache = try ToolCache.forRequests(invocation.cache, context: context)
        let showsHops = invocation.output.printsHops && invocation.network.follows
        let session = Session(
            configuration: configuration,
            transport: showsHops ? HopTransport(base: configuration.makeTransport(), printer: printer) : nil,
            redirectHandler: HopPrinter(follows: invocation.network.follows, printer: showsHops ? printer : nil),
            eventMonitors: (recorder.map { [$0] } ?? []) + debugLog.monitors
        )
        let upload = UploadDisplay(plan.body, context: context)
        let sending = Sending(
            preparation: preparation,
            session: session,
            receivesBody: invocation.output.needsBody(for: parts),
            announce: { [context, upload] note in
                if let upload { await upload.note(note.text) } else { context.note(note.text) }
            },
            begin: { [upload] request in
                if let upload { Task { await upload.run(request) } }
            }
        )
        let began = Date()
        let outcome: Sending.Outcome
        do {
            outcome = try await exchange(sending, printer, upload)
            try await write(recorder)
            await debugLog.flush(session)
        } catch {
            await upload?.end()
            // The received part of the body is written, and its last line and colour are ended, before the failure is
            // reported.
            try? await printer.use { try $0.endBody() }
            await debugLog.flush(session)
            // The archive of a failed exchange is written too, because it shows the cause.
            try await write(recorder)
            throw error
        }
        let facts = ExchangeFacts.rows(outcome.head, outcome.metrics, elapsed: Date().timeIntervalSince(began))
        try await printer.use {
            try $0.endBody()
            try $0.metadata(facts)
        }
        try finish(outcome, context: context)
        await sending.revalidate(after: outcome)
        try preparation.refuseLateInput()
        return invocation.network.checksStatus
            ? ExitStatus.checking(outcome.head.status, follows: invocation.network.follows) : .success
    }

    /// The maximum size of a body that is kept in memory for the archive.
    private static let recordedBodySize = 16 << 20

    private func write(_ recorder: HARRecorder?) async throws {
        guard let recorder, let path = invocation.output.harFile else { return }
        do {
            try await recorder.write(to: URL(filePath: InputFile.expanded(path)))
        } catch {
            throw UsageError("cannot write \(path): \(error.localizedDescription)")
        }
    }

    private func exchange(
        _ sending: Sending,
        _ printer: SharedPrinter,
        _ upload: UploadDisplay?
    ) async throws -> Sending.Outcome {
        try await sending.perform { event in
            switch event {
            case .head(let head):
                await upload?.end()
                try await printer.use { try $0.response(head) }
            case .bytes(let data):
                try await printer.use { try $0.body(data) }
            }
        }
    }

    private func finish(_ outcome: Sending.Outcome, context: ToolContext) throws {
        if invocation.output.drawsTiming, let metrics = outcome.metrics {
            let chart = TimingChart(palette: context.errorPalette, hasUnicode: context.terminal.hasUnicode)
            let width = Terminal.size(of: context.errors.descriptor).columns
            try? context.errors.write(chart.render(metrics, width: width))
        } else if invocation.output.verbosity == 1, let status = outcome.metrics?.cacheStatus {
            context.note("Cache-Status: \(status)")
        }
        try SessionUpdate(preparation: preparation).store()
        if invocation.network.checksStatus, outcome.head.status >= 400 {
            context.warn("HTTP \(outcome.head.status) \(outcome.head.reason)")
        }
    }
}
