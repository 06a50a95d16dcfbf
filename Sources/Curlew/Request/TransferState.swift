internal import CurlewCore
internal import Foundation

/// What the last exchange has brought, so far. Its delegate writes it from the transport's thread, the run and users read it:
/// all of them under the request's lock.
struct TransferState: Sendable {
    var response: LazyResponse?
    var body: ReceivedBody = .none
    /// What has come of a body that is kept in memory, while it comes.
    private(set) var incoming: Data?
    private var hasRoom = false
    /// Where the body goes if it was turned into a download.
    var file: BodyFile?
    var acceptedHead: AcceptedHead?
    var upload = TransferCount()
    /// How many bytes of the body have come.
    private(set) var received: Int64 = 0
    /// Of how many, where that is not what the head says: few want to know, and the head is there to be asked.
    private var total: Int64? = 0
    /// A response that may turn out to be a step on the way to the answer.
    var heldBack: HeldBackResponse?
    /// The body waits for it.
    var headAnswer: HeadAnswer?
    /// The delegate has ended the exchange.
    var wasAborted = false
    /// How much of the body this exchange has sent.
    private var sent: Int64 = 0

    /// An exchange that gets no answer must not be judged by an earlier one's. The earlier one's file is returned: it knows a
    /// closure of the user's.
    mutating func exchangeBegins() -> BodyFile? {
        response = nil
        acceptedHead = nil
        heldBack = nil
        headAnswer = nil
        wasAborted = false
        sent = 0
        return exchange(&file, with: nil)
    }

    /// How much of the body has come, of how much.
    var download: TransferCount {
        get {
            let total = total ?? response.map { ExchangeContext.expectedLength(of: $0.head) } ?? 0
            return TransferCount(completed: received, total: total)
        }
        set { (received, total) = (newValue.completed, newValue.total) }
    }

    /// The body begins.
    mutating func headArrived(_ head: LazyResponse) {
        response = head
        (received, total) = (0, nil)
    }

    /// What is to be done with the next bytes of a body.
    enum Passage {
        /// They are the answer's.
        case take
        /// The same, and they were asked to go into a file.
        case intoFile
        /// They were kept with the response that is held back.
        case keptBack
        /// There are more of those than any explanation that comes with a redirect has.
        case tooMuchToKeepBack
        /// The answer about the head is still to come: they have to come again.
        case wait
    }

    mutating func passage(of bytes: UnsafeRawBufferPointer) -> Passage {
        if let isKept = heldBack?.keep(bytes) { return isKept ? .keptBack : .tooMuchToKeepBack }
        guard let headAnswer else { return .take }
        guard headAnswer.allowsBody else { return .wait }
        self.headAnswer = nil
        return headAnswer.wantsFile ? .intoFile : .take
    }

    /// Keeps bytes in memory: they and their number are seen in one step. False where there would be more than `limit`. `data` is
    /// whose they are, where it may be kept itself.
    mutating func keep(_ bytes: UnsafeRawBufferPointer, of data: Data?, limit: Int) -> Bool {
        guard bytes.count <= Int64(limit) - received else { return false }
        if incoming == nil {
            // All of most bodies.
            incoming = data ?? Data(bytes)
        } else {
            if !hasRoom { makeRoom(limit: limit) }
            incoming?.append(contentsOf: bytes)
        }
        received += Int64(bytes.count)
        return true
    }

    private mutating func makeRoom(limit: Int) {
        // A length is a promise: believed only so far.
        let room = min(download.total, Int64(limit), 4 << 20)
        if room > 0 { incoming?.reserveCapacity(Int(room)) }
        hasRoom = true
    }

    /// No more of a body that is kept in memory comes.
    mutating func endsBody() {
        if let data = exchange(&incoming, with: nil) { body = .data(data) }
        hasRoom = false
    }

    /// Bytes of the request's body have gone out: how many are new, and what users see. nil where none is, because a body
    /// that is sent again, from its beginning, counts from where it was the first time.
    mutating func sent(_ count: TransferCount) -> (news: Int64, shown: TransferCount)? {
        guard count.completed > sent else { return nil }
        let news = count.completed - sent
        sent = count.completed
        // In another exchange, too, it stands still until there is news.
        let before = min(upload.completed, count.total < 0 ? .max : count.total)
        upload = TransferCount(completed: max(count.completed, before), total: count.total)
        return (news, upload)
    }
}

/// A response that may turn out to be a step on the way to the answer: it is not shown before that is known.
struct HeldBackResponse: Sendable {
    let head: ResponseHead
    private(set) var body = Data()

    /// The most bytes of a body that are kept.
    static let limit = 1024 * 1024

    init(_ head: ResponseHead) { self.head = head }

    /// False where there is no room: a body without an end must not keep the redirect from being followed, or refused, for
    /// ever.
    mutating func keep(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= Self.limit - body.count else { return false }
        body.append(contentsOf: bytes)
        return true
    }
}

/// How many bytes of how many, in one direction. A total of -1 is unknown.
struct TransferCount: Sendable, Equatable {
    var completed: Int64 = 0
    var total: Int64 = 0

    /// What users see. A snapshot: nothing changes it later.
    var progress: Progress {
        let progress = Progress(totalUnitCount: total)
        progress.completedUnitCount = completed
        return progress
    }
}

/// Where the bytes of a response went.
enum ReceivedBody: Sendable {
    case none
    case data(Data)
    case file(URL)
    /// Handed on piece by piece.
    case streamed

    var data: Data? {
        switch self {
        case .data(let data): data
        case .none, .file, .streamed: nil
        }
    }

    var fileURL: URL? {
        switch self {
        case .file(let url): url
        case .none, .data, .streamed: nil
        }
    }
}
