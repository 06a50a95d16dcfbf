internal import CurlewCore
internal import Foundation

extension Connection {
    /// Sends the rest of `output`; returns `nil` when all of it has been sent.
    func flush(_ now: ContinuousClock.Instant) -> Need? {
        var turns = 0
        while outputStart < output.count {
            if let sendTime, now < sendTime { return .time(sendTime) }
            // A peer that accepts everything must not keep the other connections waiting.
            turns += 1
            guard turns <= 16 else { return .writable }
            let most = min(output.count - outputStart, sendPace?.bytes ?? .max)
            let portion = outputStart..<outputStart + most
            switch output.withUnsafeBytes({ wire.send(UnsafeRawBufferPointer(rebasing: $0[portion])) }) {
            case .moved(let count):
                server.recorder.sent(count)
                outputStart += count
                if let sendPace { sendTime = now + sendPace.every }
            case .needs(let need):
                return need
            case .ended:
                close()
                return .event
            }
        }
        return nil
    }

    func sendBody(upTo limit: Int64?, _ now: ContinuousClock.Instant) -> Need? {
        while true {
            if let need = flush(now) { return need }
            if pauseAfterPiece > .zero {
                stepWait.end = now + pauseAfterPiece
                pauseAfterPiece = .zero
            }
            if let end = stepWait.end, now < end { return .time(end) }
            stepWait.end = nil
            guard let (bytes, pause) = bodyCursor.next(upTo: limit) else { return nil }
            output = bytes
            outputStart = 0
            pauseAfterPiece = pause
        }
    }

    /// Returns the last chunk and the trailers of a chunked body; empty for other framings.
    func bodyEnd() -> [UInt8] {
        guard isBodyChunked else { return [] }
        var text = "0\r\n"
        for field in trailers { text += "\(field.name): \(field.value)\r\n" }
        return Array((text + "\r\n").utf8)
    }
}
