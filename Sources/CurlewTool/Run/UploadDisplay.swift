internal import Curlew
internal import Foundation

/// Shows a progress line on the terminal while a body is being sent, until the response arrives or the request fails.
actor UploadDisplay {
    private let name: String
    private let context: ToolContext
    private var board: ProgressBoard
    private var meter = RateMeter()
    private var request: DataStreamRequest?
    private var started = Date()
    private var hasEnded = false

    /// Uploads that take less time are not shown.
    private static let delay = Duration.milliseconds(300)

    /// `nil` if there is nothing to send, or no terminal to draw on.
    init?(_ body: PlannedBody, context: ToolContext) {
        guard context.terminal.isError, context.quietness == 0, let name = body.shownName else { return nil }
        self.name = name
        self.context = context
        board = ProgressBoard(
            line: ProgressLine(palette: context.errorPalette, hasUnicode: context.terminal.hasUnicode))
    }

    /// Draws until `end()` is called or the task is cancelled.
    func run(_ request: DataStreamRequest) async {
        self.request = request
        started = Date()
        var pause = Self.delay
        while !hasEnded, (try? await Task.sleep(for: pause)) != nil {
            draw()
            pause = .milliseconds(100)
        }
    }

    /// Removes the line. It is not drawn again.
    func end() {
        hasEnded = true
        clear()
    }

    /// Writes a line above the progress line.
    func note(_ text: String) {
        clear()
        context.note(text)
    }

    private func draw() {
        guard !hasEnded, let request else { return }
        let progress = request.uploadProgress
        var snapshot = TransferSnapshot(name: name, state: .running)
        snapshot.completed = progress.completedUnitCount
        snapshot.total = progress.totalUnitCount > 0 ? progress.totalUnitCount : nil
        snapshot.elapsed = Date().timeIntervalSince(started)
        meter.record(snapshot.completed, at: snapshot.elapsed)
        snapshot.bytesPerSecond = meter.bytesPerSecond
        let size = Terminal.size(of: context.errors.descriptor)
        try? context.errors.write(board.frame([snapshot], width: size.columns, height: size.rows))
    }

    private func clear() {
        let text = board.clear()
        if !text.isEmpty { try? context.errors.write(text) }
    }
}

extension PlannedBody {
    /// The body's name in the progress line. `nil` if there is no body.
    var shownName: String? {
        switch self {
        case .none: nil
        case .file(let path): path.split(separator: "/").last.map(String.init) ?? path
        case .multipart: "form"
        case .standardInput: "standard input"
        case .data: "body"
        }
    }
}
