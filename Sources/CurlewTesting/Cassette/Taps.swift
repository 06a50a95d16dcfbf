internal import CurlewCore
internal import Foundation

/// A sink that forwards to another one and stores the bytes that it accepted.
final class TapSink: TransferSink {
    private struct State: Sendable {
        var head: ResponseHead?
        /// The accepted bytes; `nil` once they exceed the limit.
        var body: Data? = Data()
    }

    private let sink: any TransferSink
    private let limit: Int
    private let state = Watched(State())

    init(_ sink: any TransferSink, limit: Int) {
        self.sink = sink
        self.limit = limit
    }

    var head: ResponseHead? { state.value.head }
    var body: Data? { state.value.body }

    func willStart(_ control: any TransferControl) { sink.willStart(control) }
    func didReceive(informational head: ResponseHead) { sink.didReceive(informational: head) }
    func didSend(bodyBytes: Int64, of expected: Int64?) { sink.didSend(bodyBytes: bodyBytes, of: expected) }

    func didReceive(head: ResponseHead) -> Disposition {
        state.change {
            $0.head = head
            $0.body = Data()
        }
        return sink.didReceive(head: head)
    }

    func didReceive(body bytes: UnsafeRawBufferPointer) -> Disposition {
        let answer = sink.didReceive(body: bytes)
        // Bytes that the sink does not accept are delivered again.
        guard case .proceed = answer else { return answer }
        let limit = limit
        let part = Data(bytes)
        state.change { state in
            if let count = state.body?.count, count + part.count <= limit {
                state.body?.append(part)
            } else {
                state.body = nil
            }
        }
        return answer
    }
}

/// A body stream that forwards another one and stores its bytes.
final class TapBody: BodyStream {
    private let stream: any BodyStream
    private let limit: Int
    /// The bytes that were read; `nil` once they exceed the limit.
    private let kept = Watched<Data?>(Data())

    init(_ stream: any BodyStream, limit: Int) {
        self.stream = stream
        self.limit = limit
    }

    var bytes: Data? { kept.value }
    var isReplayable: Bool { stream.isReplayable }

    func open(waker: any BodyWaker) {
        kept.change { $0 = Data() }
        stream.open(waker: waker)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        let read = stream.read(into: buffer)
        if case .bytes(let count) = read {
            let part = Data(buffer[..<count])
            let limit = limit
            kept.change { kept in
                if let now = kept?.count, now + count <= limit { kept?.append(part) } else { kept = nil }
            }
        }
        return read
    }

    func rewind() -> Bool {
        guard stream.rewind() else { return false }
        kept.change { $0 = Data() }
        return true
    }

    func close() { stream.close() }
}
