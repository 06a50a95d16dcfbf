internal import CCurl
internal import CurlewCore
internal import Foundation
internal import Glibc

/// The loop's side of a byte connection: its handle, and the calls that wait in either direction.
final class LoopByteConnection {
    let number: Int
    let fd: Int32
    let easy: TransferHandle
    let queue: SendQueue
    /// The events that the poller watches for.
    var watched: Readiness = []
    private let url: URL
    /// Whether the socket carries the peers' bytes as they are, without TLS.
    private let isPlain: Bool

    private var readers = WaitingCalls<[UInt8]?>()
    /// Bytes that were read before a reader asked for them.
    private var unread: [UInt8] = []
    /// Whether the kernel has nothing more; the poller reports new bytes. Never set over TLS, which reads ahead.
    private var isDrained = false
    private var hasEnded = false
    private var receiveFailure: CurlewError?

    private var outgoing = OutgoingBytes()
    private var senders = WaitingCalls<Void>()
    private var finishers = WaitingCalls<Void>()
    private var sendFailure: CurlewError?
    private var hasFinished = false

    init(number: Int, fd: Int32, easy: TransferHandle, queue: SendQueue, url: URL, isPlain: Bool) {
        (self.number, self.fd, self.easy, self.queue) = (number, fd, easy, queue)
        (self.url, self.isPlain) = (url, isPlain)
    }

    /// The events that the connection waits for.
    var wanted: Readiness {
        var wanted: Readiness = readers.isEmpty ? [] : .read
        if !outgoing.isEmpty { wanted.insert(.write) }
        return wanted
    }

    // MARK: Commands

    func execute(_ command: ByteConnectionCommand, _ scratch: UnsafeMutableRawBufferPointer) {
        switch command {
        case .receive(let number, let maximum, let answer):
            readers.append(.init(number: number, answer: answer, maximum: maximum))
            read(scratch)
        case .send(let bytes):
            guard sendFailure == nil else { return }
            outgoing.append(bytes)
            write()
        case .awaitRoom(let number, let answer):
            senders.append(.init(number: number, answer: answer))
            answerSenders()
        case .finish(let number, let answer):
            guard isPlain else {
                return command.fail(
                    .unsupported(feature: "ending one direction of a connection", needs: "a connection without TLS"))
            }
            finishers.append(.init(number: number, answer: answer))
            answerSenders()
        case .abandon(let number):
            let error = CurlewError(.cancelled, phase: .lifecycle, reason: "the task was cancelled", url: url)
            readers.abandon(number, error)
            senders.abandon(number, error)
            finishers.abandon(number, error)
        case .close: break
        }
    }

    /// Ends every waiting call with the error. Called when the connection ends.
    func end(_ error: CurlewError) {
        queue.fail(error)
        if sendFailure == nil { sendFailure = error }
        outgoing.removeAll()
        readers.answerAll(.failure(error))
        senders.answerAll(.failure(error))
        finishers.answerAll(.failure(error))
    }

    // MARK: Reading

    /// Reads the bytes that a server has sent at once. libcurl binds the handle to its connection with the first read.
    /// Until then it may take the connection for an idle one and close it.
    func readFirst(_ scratch: UnsafeMutableRawBufferPointer) { receive(scratch, maximum: scratch.count) }

    /// Called when the poller reports bytes to read, or an end.
    func readable(_ scratch: UnsafeMutableRawBufferPointer) {
        isDrained = false
        read(scratch)
    }

    /// Answers waiting readers until the bytes run out.
    func read(_ scratch: UnsafeMutableRawBufferPointer) {
        while let reader = readers.first {
            if unread.isEmpty, !hasEnded, receiveFailure == nil { receive(scratch, maximum: reader.maximum) }
            if !unread.isEmpty {
                readers.answerFirst(.success(takeUnread(maximum: reader.maximum)))
            } else if let receiveFailure {
                readers.answerFirst(.failure(receiveFailure))
            } else if hasEnded {
                readers.answerFirst(.success(nil))
            } else {
                return
            }
        }
    }

    private func takeUnread(maximum: Int) -> [UInt8] {
        guard unread.count > maximum else {
            defer { unread = [] }
            return unread
        }
        defer { unread.removeFirst(maximum) }
        return Array(unread.prefix(maximum))
    }

    private func receive(_ scratch: UnsafeMutableRawBufferPointer, maximum: Int) {
        if isDrained { return }
        var count = 0
        let room = min(maximum, scratch.count)
        // curl_easy_recv(3): zero bytes mean the end.
        let code = curl_easy_recv(easy.handle, scratch.baseAddress, room, &count)
        isDrained = isPlain && (code == CURLE_AGAIN || (code == CURLE_OK && count > 0 && count < room))
        if code == CURLE_AGAIN { return }
        if code != CURLE_OK {
            receiveFailure = failure(.receiveFailed, code)
        } else if count == 0 {
            // The kernel reports a reset only once. If a write has received the report, a read finds an ordinary end.
            receiveFailure = sendFailure ?? (queue.isBroken ? failure(.sendFailed, CURLE_SEND_ERROR) : nil)
            hasEnded = receiveFailure == nil
        } else {
            unread = Array(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
        }
    }

    // MARK: Writing

    /// Sends as many bytes as the socket accepts.
    func write() {
        while !outgoing.isEmpty {
            var count = 0
            let code = outgoing.withNext { curl_easy_send(easy.handle, $0.baseAddress, $0.count, &count) }
            if code == CURLE_AGAIN { break }
            guard code == CURLE_OK else {
                let error = failure(.sendFailed, code)
                // Only sending fails: bytes that the peer sent before it closed can still be read.
                sendFailure = error
                queue.fail(error)
                outgoing.removeAll()
                break
            }
            outgoing.sent(count)
            queue.remove(count)
        }
        answerSenders()
    }

    private func answerSenders() {
        if let sendFailure {
            senders.answerAll(.failure(sendFailure))
            finishers.answerAll(.failure(sendFailure))
        }
        if queue.hasRoom { senders.answerAll(.success(())) }
        guard outgoing.isEmpty, !finishers.isEmpty else { return }
        if !hasFinished {
            hasFinished = true
            queue.fail(
                CurlewError(
                    .sendFailed, phase: .send, reason: "this direction of the connection has been closed", url: url))
            _ = shutdown(fd, Int32(SHUT_WR))
        }
        finishers.answerAll(.success(()))
    }

    private func failure(_ code: CurlewError.Code, _ result: CURLcode) -> CurlewError {
        let text = easy.errorMessage
        return CurlewError(
            code,
            phase: code == .sendFailed ? .send : .receive,
            reason: text.isEmpty ? String(cString: curl_easy_strerror(result)) : text,
            url: url,
            native: CurlCode.native(Int(result.rawValue))
        )
    }
}

/// The bytes that a connection has to send, in order.
struct OutgoingBytes {
    private var chunks: [[UInt8]] = []
    /// The first chunk that was not sent completely, and the number of its bytes that were.
    private var index = 0
    private var offset = 0

    var isEmpty: Bool { index == chunks.count }

    mutating func append(_ bytes: [UInt8]) { chunks.append(bytes) }

    /// Calls `body` with the next bytes. Until some of them are sent they stay the same, at the same address, as
    /// OpenSSL requires of a repeated write.
    func withNext<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        chunks[index].withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[offset...])) }
    }

    mutating func sent(_ count: Int) {
        offset += count
        guard offset == chunks[index].count else { return }
        offset = 0
        chunks[index] = []
        index += 1
        if index == chunks.count {
            chunks.removeAll(keepingCapacity: true)
            index = 0
        } else if index >= 64, index * 2 > chunks.count {
            chunks.removeFirst(index)
            index = 0
        }
    }

    mutating func removeAll() {
        chunks = []
        (index, offset) = (0, 0)
    }
}
