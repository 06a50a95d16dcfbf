internal import CurlewCore
internal import Foundation
internal import Glibc

extension Connection {
    /// Sends what is left of `output`; nil when all of it has gone.
    func flush(_ now: ContinuousClock.Instant) -> Need? {
        var turns = 0
        while outputStart < output.count {
            if let sendTime, now < sendTime { return .time(sendTime) }
            // Back to the others now and then, also when this peer takes everything.
            turns += 1
            guard turns <= 16 else { return .writable }
            let most = min(output.count - outputStart, sendPace?.bytes ?? .max)
            let count = output.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress.map { $0 + outputStart }, most, Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN { return .writable }
                close()
                return .event
            }
            server.recorder.sent(count)
            outputStart += count
            if let sendPace { sendTime = now + sendPace.every }
        }
        return nil
    }

    func sendBody(upTo limit: Int64?, _ now: ContinuousClock.Instant) -> Need? {
        while true {
            if let need = flush(now) { return need }
            if pauseAfterPiece > .zero {
                wakeTime = now + pauseAfterPiece
                pauseAfterPiece = .zero
            }
            if let wakeTime, now < wakeTime { return .time(wakeTime) }
            wakeTime = nil
            guard let (bytes, pause) = bodyCursor.next(upTo: limit) else { return nil }
            output = bytes
            outputStart = 0
            pauseAfterPiece = pause
        }
    }

    /// The last chunk and the trailers, where the body is chunked.
    func bodyEnd() -> [UInt8] {
        guard isBodyChunked else { return [] }
        var text = "0\r\n"
        for field in trailers { text += "\(field.name): \(field.value)\r\n" }
        return Array((text + "\r\n").utf8)
    }
}
