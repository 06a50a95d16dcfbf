internal import CCurl
internal import CurlewCore
internal import Foundation
internal import Glibc

extension ActiveTransfer {
    /// What libcurl measured, as dates.
    func metrics(of easy: CurlEasy) -> TransferMetrics {
        var raw = curlew_metrics()
        curlew_read_metrics(easy.handle, &raw)
        var metrics = TransferMetrics(queued: queued, ended: date(raw.total) ?? queued)
        metrics.nameLookupEnded = date(raw.name_lookup)
        metrics.connected = date(raw.connected)
        metrics.tlsEstablished = date(raw.tls)
        metrics.requestSent = hasSent ? date(raw.pretransfer) : nil
        metrics.firstByte = date(raw.first_byte)
        metrics.isConnectionReused = hasSent && raw.new_connections == 0
        metrics.httpVersion = head?.version
        metrics.remoteAddress = Self.address(raw.remote_ip, raw.remote_port, &easy.book.texts)
        metrics.localAddress = Self.address(raw.local_ip, raw.local_port, &easy.book.texts)
        metrics.tlsVersion = tlsVersion
        metrics.tlsCipher = tlsCipher
        metrics.bytesSent = Int64(raw.request_size) + raw.uploaded
        metrics.bytesReceived = Int64(raw.header_size) + raw.downloaded
        metrics.decodedBytesReceived = deliveredBody
        metrics.attempt = request.attempt
        return metrics
    }

    private func date(_ microseconds: Int64) -> Date? {
        microseconds > 0 ? queued.addingTimeInterval(Double(microseconds) / 1_000_000) : nil
    }

    /// `address:port`. Mostly equal to the last transfer's, or short: both spare an allocation.
    private static func address(_ ip: UnsafePointer<CChar>?, _ port: Int, _ texts: inout TextCache) -> String? {
        guard let ip, ip.pointee != 0 else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
            let length = min(strlen(ip), 100)
            let isV6 = memchr(ip, 0x3A, length) != nil && port != 0
            var end = 0
            if isV6 {
                buffer[0] = UInt8(ascii: "[")
                end = 1
            }
            UnsafeMutableRawBufferPointer(rebasing: buffer[end...]).copyMemory(
                from: UnsafeRawBufferPointer(start: ip, count: length))
            end += length
            if isV6 {
                buffer[end] = UInt8(ascii: "]")
                end += 1
            }
            if port > 0 {
                buffer[end] = UInt8(ascii: ":")
                end += 1
                var divisor = 1
                while port / divisor >= 10 { divisor *= 10 }
                while divisor > 0 {
                    buffer[end] = UInt8(truncatingIfNeeded: 0x30 + port / divisor % 10)
                    end += 1
                    divisor /= 10
                }
            }
            return texts.string(UnsafeRawBufferPointer(rebasing: buffer[..<end]))
        }
    }
}
