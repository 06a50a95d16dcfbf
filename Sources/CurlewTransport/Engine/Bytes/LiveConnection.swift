internal import CCurl
internal import CurlewCore
internal import Foundation
internal import Glibc

/// A connection as the loop has it: its handle, and what waits on either side.
final class LiveConnection {
    let number: Int
    let fd: Int32
    let easy: TransferHandle
    let queue: SendQueue
    /// What the poller was asked for.
    var watched: Readiness = []
    private let url: URL
    /// Whether the socket's bytes are those of the peers, without TLS in between.
    private let isPlain: Bool

    private var readers = ConnectionWaits<[UInt8]?>()
    /// Read before a reader came.
    private var unread: [UInt8] = []
    /// The kernel has nothing more: the poller says when it has. Unknown over TLS, which reads ahead.
    private var isDrained = false
    private var hasEnded = false
    private var receiveFailure: CurlewError?

    private var outgoing = OutgoingBytes()
    private var senders = ConnectionWaits<Void>()
    private var finishers = ConnectionWaits<Void>()
    private var sendFailure: CurlewError?
    private var hasFinished = false

    init(number: Int, fd: Int32, easy: TransferHandle, queue: SendQueue, transfer: ActiveTransfer) {
        (self.number, self.fd, self.easy, self.queue) = (number, fd, easy, queue)
        url = transfer.request.url
        isPlain = Self.isPlain(transfer)
    }

    static func isPlain(_ transfer: ActiveTransfer) -> Bool { !transfer.plan.isTLS && !transfer.mayMeetTLSProxy }

    /// What there is to wait for.
    var wanted: Readiness {
        var wanted: Readiness = readers.isEmpty ? [] : .read
        if !outgoing.isEmpty { wanted.insert(.write) }
        return wanted
    }

    // MARK: Commands

    func take(_ command: ConnectionCommand, _ scratch: UnsafeMutableRawBufferPointer) {
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

    /// The connection ends here: whatever waits ends with the error.
    func end(_ error: CurlewError) {
        queue.fail(error)
        if sendFailure == nil { sendFailure = error }
        outgoing.removeAll()
        readers.answerAll(.failure(error))
        senders.answerAll(.failure(error))
        finishers.answerAll(.failure(error))
    }

    // MARK: Reading

    /// Takes what a server has sent at once. libcurl binds the handle to its connection with the first reading, and
    /// until then may take the connection for an idle one and close it.
    func readFirst(_ scratch: UnsafeMutableRawBufferPointer) { receive(scratch, maximum: scratch.count) }

    /// The poller has seen that there is something to read, or an end.
    func readable(_ scratch: UnsafeMutableRawBufferPointer) {
        isDrained = false
        read(scratch)
    }

    /// Answers readers as far as there are bytes.
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
        // curl_easy_recv(3): zero bytes are the end.
        let code = curl_easy_recv(easy.handle, scratch.baseAddress, room, &count)
        isDrained = isPlain && (code == CURLE_AGAIN || (code == CURLE_OK && count > 0 && count < room))
        if code == CURLE_AGAIN { return }
        if code != CURLE_OK {
            receiveFailure = failure(.receiveFailed, code)
        } else if count == 0 {
            // The kernel tells of a reset once. Where the writing has heard of it, reading shows an end.
            receiveFailure = sendFailure ?? (queue.isBroken ? failure(.sendFailed, CURLE_SEND_ERROR) : nil)
            hasEnded = receiveFailure == nil
        } else {
            unread = Array(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
        }
    }

    // MARK: Writing

    /// Sends as much as the peer takes now.
    func write() {
        while !outgoing.isEmpty {
            var count = 0
            let code = outgoing.withNext { curl_easy_send(easy.handle, $0.baseAddress, $0.count, &count) }
            if code == CURLE_AGAIN { break }
            guard code == CURLE_OK else {
                let error = failure(.sendFailed, code)
                // What the peer has sent before it closed can still be read.
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
