internal import Curlew
internal import Foundation

/// Runs a WebSocket whose messages are lines: those of standard input are sent, those of the server are printed.
struct WebSocketRun: Sendable {
    private let preparation: Preparation
    private let context: ToolContext

    private var invocation: Invocation { preparation.invocation }
    private var settings: WebSocketSettings { invocation.webSocket }

    /// The time without a message after which, once all lines are answered, no more are expected.
    private static let silence = Duration.milliseconds(500)

    init(preparation: Preparation, context: ToolContext) {
        var context = context
        context.quietness = preparation.invocation.output.quietness
        self.preparation = preparation
        self.context = context
    }

    func run() async throws -> ExitStatus {
        let isTerminal = context.terminal.isOutput && invocation.output.file == nil
        let target = BodyFormatter.Target(
            isTerminal: isTerminal,
            pretty: invocation.output.effectivePretty(
                isTerminal: isTerminal, noColorInEnvironment: context.terminal.noColor),
            look: invocation.output.look)
        let destination = try OutputDestination(path: invocation.output.file, otherwise: context.output)
        let configuration = try SessionConfiguration(preparation)
        let session = Session(
            configuration: configuration,
            redirectHandler: HopPrinter(follows: invocation.network.follows, printer: nil))
        let request = try preparation.plan.urlRequest()
        // Set up before the connection, so that its handshake can be interrupted.
        let interruption = await Interruption()
        defer { withExtendedLifetime(interruption) {} }
        let socket = session.webSocket(request, protocols: settings.subprotocols) { options in
            options.pingInterval = settings.pingInterval
            if case .some(.some(let time)) = invocation.network.timeout { options.pongTimeout = time }
        }
        preparation.authenticate(socket)
        let farewell = Farewell(patience(configuration.timeouts.idle)) { try? await socket.close(code: $0) }
        interruption.answer { Task { await farewell.interrupt() } }
        do {
            let status = try await talk(over: socket, farewell, target, destination)
            if let failure = await farewell.failure { throw failure }
            if await farewell.isInterrupted { throw ToolFailure.interrupted }
            return status
        } catch {
            if await farewell.isInterrupted { throw ToolFailure.interrupted }
            throw error
        }
    }

    private func patience(_ idle: Duration?) -> Farewell.Patience {
        if let linger = settings.linger { return .init(whileUnanswered: linger, afterAnswers: linger) }
        return .init(whileUnanswered: idle, afterAnswers: Self.silence)
    }

    // MARK: The exchange

    private func talk(
        over socket: WebSocketRequest, _ farewell: Farewell, _ target: BodyFormatter.Target,
        _ destination: OutputDestination
    ) async throws -> ExitStatus {
        let began = Date()
        var parts = invocation.output.parts ?? [.responseBody]
        if invocation.output.quietness > 0, invocation.output.file == nil { parts = [] }
        var printer = ExchangePrinter(parts: parts, target: target, destination: destination)
        try printer.request(requestHead(), body: nil, contentType: nil)
        let head: ResponseHead
        do {
            head = try await socket.opened()
        } catch {
            guard error.code == .webSocketRefused, let head = socket.head, head.status != 101 else { throw error }
            // If no parts were chosen, the refusal is shown like the response to an ordinary request.
            if invocation.output.parts == nil, invocation.output.quietness == 0 {
                parts = invocation.output.effectiveParts(isTerminal: target.isTerminal)
            }
            let refusal = ExchangePrinter(parts: parts, target: target, destination: destination)
            return try printRefusal(head, error, invocation.output.parts == nil ? refusal : printer)
        }
        try printer.response(head)
        let output = try printer.begin()
        if parts.contains(.responseHead), parts.contains(.responseBody) { try output.write("\n") }
        try SessionUpdate(preparation: preparation).store()
        let isTyped = context.terminal.isInput
        if isTyped, target.isTerminal, !invocation.ignoresStandardInput {
            context.note("connected; each line is a message, Ctrl-D or Ctrl-C closes")
        }
        if !invocation.ignoresStandardInput, isTyped || InputFile.isStandardInputFed {
            // Not awaited: the read may block forever, and the server may close the WebSocket before it returns.
            Task { await feed(socket, farewell) }
        } else if settings.linger != nil {
            // Nothing is sent, so the end of the input is reported only for the sake of `--linger`. Without it, the
            // tool listens until the server closes.
            await farewell.inputEnded()
        }
        try await receive(
            from: socket, farewell, parts.contains(.responseBody) ? MessagePrinter(target: target, output: output) : nil
        )
        try printer.metadata(ExchangeFacts.rows(head, socket.metrics, elapsed: Date().timeIntervalSince(began)))
        return .success
    }

    private func receive(
        from socket: WebSocketRequest, _ farewell: Farewell, _ printer: MessagePrinter?
    ) async throws {
        do {
            for try await message in socket.messages {
                try printer?.write(message)
                await farewell.received()
            }
        } catch let error as OutputFile.Failure {
            try? await socket.close(code: .goingAway)
            throw error
        } catch let error as CurlewError {
            throw ToolFailure.webSocket(error)
        }
        // When this returns, the exchange has ended and its metrics are known.
        try? await socket.close()
        if invocation.output.verbosity > 0, let code = socket.closeCode {
            context.note("closed with \(code.rawValue)" + (socket.closeReason.map { " (\($0))" } ?? ""))
        }
    }

    private func feed(_ socket: WebSocketRequest, _ farewell: Farewell) async {
        var lines = InputLines()
        var number = 0
        func send(_ line: [UInt8]) async throws {
            number += 1
            await farewell.sends()
            guard !settings.sendsBinary else { return try await socket.send(Data(line)) }
            guard let text = String(validating: line, as: UTF8.self) else {
                throw UsageError("line \(number) is not UTF-8", hint: "--binary sends any bytes.")
            }
            try await socket.send(text)
        }
        do {
            for try await piece in StandardInputBody() {
                for line in lines.feed(piece) { try await send(line) }
                if lines.isLineTooLong {
                    throw UsageError(
                        "line \(number + 1) is longer than \(Amount.bytes(Int64(lines.limit)))",
                        hint: "Each line is one message.")
                }
            }
            if let last = lines.finish() { try await send(last) }
            await farewell.inputEnded()
        } catch is CurlewError {
            // The WebSocket has ended. `receive` throws the reason.
        } catch let error as OutputFile.Failure {
            await farewell.failed(UsageError("cannot read standard input: \(error.text)"))
        } catch {
            await farewell.failed(error)
        }
    }

    // MARK: Heads

    /// Returns the head of the handshake without the fields that are made anew for each: the key and the offer of
    /// compression.
    private func requestHead() -> RequestHead {
        var head = preparation.plan.head(bodyLength: 0, acceptEncoding: nil)
        head.headers += [
            HeaderField("Upgrade", "websocket"), HeaderField("Connection", "Upgrade"),
            HeaderField("Sec-WebSocket-Version", "13"),
        ]
        if !settings.subprotocols.isEmpty {
            head.headers.append(
                HeaderField("Sec-WebSocket-Protocol", settings.subprotocols.joined(separator: ", ")))
        }
        // The jar knows only the schemes of HTTP.
        let url = URL(string: "http" + preparation.plan.url.dropFirst(2))
        if let url, let cookies = preparation.jar?.cookies(for: url), !cookies.isEmpty {
            head.headers.append(HeaderField("Cookie", cookies.map(\.pair).joined(separator: "; ")))
        }
        return head
    }

    private func printRefusal(
        _ head: ResponseHead, _ error: CurlewError, _ printer: ExchangePrinter
    ) throws -> ExitStatus {
        var printer = printer
        try printer.response(head)
        try printer.body(error.responseBody ?? Data())
        try printer.endBody()
        try SessionUpdate(preparation: preparation).store()
        let host = URLParts(preparation.plan.url).authority
        let reason = head.reason.isEmpty ? "" : " " + head.reason
        context.report(UsageError("\(host) did not open a WebSocket: \(head.status)\(reason)"))
        guard invocation.network.checksStatus else { return .failure }
        let status = ExitStatus.checking(head.status, follows: invocation.network.follows)
        return status == .success ? .failure : status
    }
}

/// Writes each message as a line. On a terminal, unsafe characters are escaped, and binary data is replaced with its
/// size.
private struct MessagePrinter: Sendable {
    let target: BodyFormatter.Target
    let output: OutputFile

    func write(_ message: WebSocketMessage) throws(OutputFile.Failure) {
        switch message {
        case .text(let text): try write(Array(text.utf8))
        case .data(let data):
            let bytes = Array(data)
            if target.isTerminal, BinaryNotice.isBinary(bytes) || String(validating: bytes, as: UTF8.self) == nil {
                try output.write("(binary message of \(Amount.bytes(Int64(bytes.count))))\n")
            } else {
                try write(bytes)
            }
        }
    }

    private func write(_ bytes: [UInt8]) throws(OutputFile.Failure) {
        let first = bytes.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        let isJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        var formatter = BodyFormatter(kind: MediaKind(contentType: isJSON ? "text/json" : nil), target: target)
        var out: [UInt8] = []
        formatter.feed(bytes, into: &out)
        formatter.finish(into: &out)
        // On a terminal the formatter has already ended the line, unless the message was empty.
        if !target.isTerminal || out.last != 0x0A { out.append(0x0A) }
        try output.write(out)
    }
}

/// Splits standard input into lines. A carriage return before the line feed is part of the line ending.
struct InputLines: Sendable {
    /// The maximum length of a line in bytes. It is checked after each piece of input, so a line can exceed it by one
    /// piece.
    let limit: Int
    private var pending: [UInt8] = []

    init(limit: Int = 64 << 20) { self.limit = limit }

    /// Whether the unfinished line exceeds the limit.
    var isLineTooLong: Bool { pending.count > limit }

    /// Returns the lines that are complete, without their endings.
    mutating func feed(_ bytes: some Sequence<UInt8>) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                if pending.last == UInt8(ascii: "\r") { pending.removeLast() }
                lines.append(exchange(&pending, with: []))
            } else {
                pending.append(byte)
            }
        }
        return lines
    }

    /// Returns the last line, if no line feed ends it. `nil` if there is none.
    mutating func finish() -> [UInt8]? {
        pending.isEmpty ? nil : exchange(&pending, with: [])
    }
}
