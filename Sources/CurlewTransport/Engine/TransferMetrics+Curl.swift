internal import CCurl
internal import CurlewCore
internal import Foundation
internal import Glibc

extension ActiveTransfer {
    /// Stores libcurl's measurements, as dates.
    func measure(_ easy: TransferHandle) {
        var raw = curlew_metrics()
        curlew_read_metrics(easy.handle, &raw)
        isMeasured = true
        metrics.update { note(raw, easy, &$0) }
    }

    private func note(_ raw: curlew_metrics, _ easy: TransferHandle, _ metrics: inout TransferMetrics.Values) {
        // libcurl measures nothing while a transfer waits for a connection.
        metrics.ended = date(raw.total) ?? Date()
        metrics.nameLookupEnded = date(raw.name_lookup)
        metrics.connected = date(raw.connected)
        metrics.tlsEstablished = date(raw.tls)
        metrics.requestSent = hasSent ? date(raw.pretransfer) : nil
        metrics.firstByte = date(raw.first_byte)
        metrics.isConnectionReused = hasSent && raw.new_connections == 0
        metrics.httpVersion = head?.version
        (metrics.remoteAddress, metrics.localAddress) = easy.transfers.addresses.texts(raw)
        if tlsVersion != nil {
            (metrics.tlsVersion, metrics.tlsCipher) = (tlsVersion, tlsCipher)
        } else if head?.version == .http3 {
            // libcurl exposes no TLS details of QUIC, which uses TLS 1.3 (RFC 9001, 4.2).
            metrics.tlsVersion = "TLSv1.3"
        }
        metrics.bytesSent = Int64(raw.request_size) + raw.uploaded
        metrics.bytesReceived = Int64(raw.header_size) + raw.downloaded
        metrics.decodedBytesReceived = deliveredBody
        metrics.attempt = request.attempt
    }

    private func date(_ microseconds: Int64) -> Date? {
        microseconds > 0 ? queued.addingTimeInterval(Double(microseconds) / 1_000_000) : nil
    }
}
