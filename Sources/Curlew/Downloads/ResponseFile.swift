internal import CurlewCore
internal import CurlewLocks

/// The file of one response's body, and the position in it.
///
///     unopened ─┬─ the exchange pauses ─▶ opening ─ it resumes ─▶ open, startsOver or failed
///               └─ the response is of no use ─▶ startsOver
///
/// A file lane opens the file while the exchange is paused, because that blocks and calls user code. Afterwards the
/// transport's thread writes.
final class ResponseFile: Sendable {
    enum Phase: Sendable {
        case unopened
        case opening
        case open(OpenedDownload)
        /// The response neither continues nor replaces the part on disk, or that part is gone.
        case startsOver
        case failed(CurlewError)
    }

    /// The bytes of the file that the body covers.
    struct Span: Sendable {
        /// The position in the file of the next byte.
        var position: Int64 = 0
        /// The position at which a part ends according to its head; a longer body is an error. `nil` if the response is
        /// not a part.
        var end: Int64?
        /// The length of the whole file. -1 if it is unknown.
        var fileLength: Int64 = -1

        init() {}

        /// The span of a body that has this role. The response to a HEAD request announces a body that does not follow.
        init(of role: BodyRole, _ head: ResponseHead, hasBody: Bool) {
            switch role {
            case .wholeFile:
                fileLength = head.lengthOfDecodedBody
                // The body may still be a part: the user's request has a range, or the part covers the whole file.
                if hasBody { end = head.lengthOfPart }
            case .errorPage: fileLength = head.lengthOfDecodedBody
            case .rest(let part, let offset):
                (position, end, fileLength) = (offset, part.expectedTotal, part.expectedTotal ?? -1)
            case .alreadyComplete(let part): (position, fileLength) = (part.bytesWritten, part.bytesWritten)
            case .segment(let index, let progress, _):
                let plan = progress.current
                fileLength = plan.total
                // An empty file has no segments.
                guard !plan.segments.isEmpty else { return }
                (position, end) = (plan.segments[index].position, plan.segments[index].end)
            }
        }

        /// The error for an incomplete part. A server may announce and send less than the rest.
        var shortage: CurlewError? {
            guard let end, position != end else { return nil }
            return CurlewError(.truncated, phase: .receive, reason: "\(position) of \(end) bytes were received")
        }
    }

    private struct State {
        var phase = Phase.unopened
        var span = Span()
    }

    /// All work on the file is done in order, so that its end follows its opening.
    let lane = FileLane.next()
    private let onStartOver: @Sendable (_ partIsTaken: Bool) -> Void
    private let state = Lock(State())

    /// `onStartOver` is called on the lane as soon as it is known that the download starts over. If it were called only
    /// when the exchange ends, another download could continue the part on disk in between. `partIsTaken` says that
    /// another download already does.
    init(onStartOver: @escaping @Sendable (_ partIsTaken: Bool) -> Void = { _ in }) {
        self.onStartOver = onStartOver
    }

    var phase: Phase { state.withLock { $0.phase } }

    /// The range of the file that the body still has to fill. Set it before the file is opened.
    var span: Span {
        get { state.withLock { $0.span } }
        set { state.withLock { $0.span = newValue } }
    }

    /// Records that the body neither continues nor replaces the part.
    func startOver() {
        state.withLock { $0.phase = .startsOver }
        lane.enqueue { [onStartOver] in onStartOver(false) }
    }

    /// Opens the file on its lane, calls `didOpen` there, and then resumes the exchange, which has to be paused. If the
    /// part to continue is gone, the download starts over instead.
    func open(
        by opening: DownloadOpening,
        resuming control: (any TransferControl)?,
        didOpen: @escaping @Sendable (OpenedDownload) -> Void
    ) {
        state.withLock { $0.phase = .opening }
        lane.enqueue { [self] in
            let phase: Phase
            do {
                let opened = try opening.open()
                didOpen(opened)
                phase = .open(opened)
            } catch let part as PartIsGone {
                onStartOver(part.isTaken)
                phase = .startsOver
            } catch {
                phase = .failed((error as? CurlewError) ?? .downloadFailed(error))
            }
            state.withLock { $0.phase = phase }
            control?.resumeReceiving()
        }
    }

    /// Writes the next bytes, and calls `didWrite` with the span of the rest. Before the file is open, pauses the
    /// transport, which then delivers the bytes again.
    func receive(
        _ bytes: UnsafeRawBufferPointer,
        didWrite: (_ opened: OpenedDownload, _ rest: Span) -> Void
    ) -> Disposition {
        var (phase, span) = state.withLock { ($0.phase, $0.span) }
        switch phase {
        case .unopened, .opening: return .pause
        case .startsOver: return .abort(.downloadStartsOver)
        case .failed(let error): return .abort(error)
        case .open(let opened):
            // The file is complete, so the bytes of an error page must not count as progress.
            if case .alreadyComplete = opened.role { return .proceed }
            if let end = span.end, Int64(bytes.count) > end - span.position { return .abort(.partIsTooLong) }
            do throws(CurlewError) { try opened.write(bytes, at: span.position) } catch { return .abort(error) }
            span.position += Int64(bytes.count)
            state.withLock { $0.span = span }
            didWrite(opened, span)
            return .proceed
        }
    }
}

extension CurlewError {
    /// Thrown instead of writing the surplus, which would overwrite bytes of the next part.
    static var partIsTooLong: CurlewError {
        CurlewError(.protocolViolation, phase: .receive, reason: "a part is longer than it said")
    }

    /// The error of an exchange whose response neither continues nor replaces the part on disk. Monitors see it; the
    /// request does not fail with it, unless it is cancelled, because it starts over.
    static var downloadStartsOver: CurlewError {
        CurlewError(.resumeRejected, phase: .receive, reason: "the download starts over")
    }

    static func downloadFailed(_ error: any Error) -> CurlewError {
        CurlewError(.moveFailed, phase: .file, reason: "the file could not be opened", underlying: error)
    }
}
