import CurlewCore
import CurlewLocks
import Foundation

/// A sink that collects the events of one exchange, and can pause it at its head.
final class CollectingSink: TransferSink {
    struct Record: Sendable {
        var informational: [ResponseHead] = []
        var head: ResponseHead?
        var body = Data()
        var byteCount = 0
        var bytesSent: Int64 = 0
        var control: (any TransferControl)?
        var hasPaused = false
    }

    private let record = Lock(Record())
    private let keepsBody: Bool
    private let pausesAtHead: Bool
    private let suspendsAtFirstBytes: Bool

    /// With `suspendsAtFirstBytes`, the sink suspends the transfer when the first bytes of the request body are sent,
    /// on the transport's thread.
    init(keepsBody: Bool = true, pausesAtHead: Bool = false, suspendsAtFirstBytes: Bool = false) {
        self.suspendsAtFirstBytes = suspendsAtFirstBytes
        self.keepsBody = keepsBody
        self.pausesAtHead = pausesAtHead
    }

    var current: Record { record.withLock { $0 } }

    func willStart(_ control: any TransferControl) { record.withLock { $0.control = control } }

    func didReceive(informational head: ResponseHead) { record.withLock { $0.informational.append(head) } }

    func didReceive(head: ResponseHead) -> Disposition {
        record.withLock { record in
            record.head = head
            guard pausesAtHead else { return .proceed }
            record.hasPaused = true
            return .pause
        }
    }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition {
        record.withLock { record in
            record.byteCount += body.count
            if keepsBody { record.body.append(contentsOf: body) }
            return .proceed
        }
    }

    func didSend(bodyBytes: Int64, of expected: Int64?) {
        let control = record.withLock { record in
            defer { record.bytesSent = bodyBytes }
            return suspendsAtFirstBytes && record.bytesSent == 0 && bodyBytes > 0 ? record.control : nil
        }
        control?.suspend()
    }
}
