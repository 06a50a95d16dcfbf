internal import CCurl
internal import CurlewCore
internal import Foundation
internal import Glibc

extension ActiveTransfer {
    /// Stores libcurl's measurements, as dates.
    func measure(_ easy: TransferHandle) {
        var raw = curlew_metrics()
        curlew_read_metrics(easy.handle, &raw)
        result.isMeasured = true
        result.metrics.update { metrics in
            let queued = metrics.queued
            func date(_ microseconds: Int64) -> Date? {
                microseconds > 0 ? queued.addingTimeInterval(Double(microseconds) / 1_000_000) : nil
            }
            // libcurl measures nothing while a transfer waits for a connection.
            metrics.ended = date(raw.total) ?? Date()
            metrics.nameLookupEnded = date(raw.name_lookup)
            metrics.connected = date(raw.connected)
            metrics.tlsEstablished = date(raw.tls)
            // If no request was sent, the times that libcurl reports for it mean nothing. A transfer for a byte
            // connection counts as begun once libcurl could send.
            let isSent = sending.hasBegun && !plan.makesByteConnection
            metrics.requestSent = isSent ? date(raw.pretransfer) : nil
            metrics.firstByte = isSent ? date(raw.first_byte) : nil
            metrics.isConnectionReused = sending.hasBegun && raw.new_connections == 0
            metrics.httpVersion = response.head?.version
            metrics.remoteAddress = easy.transfers.addressTexts.text(raw.remote_ip, raw.remote_port)
            metrics.localAddress = easy.transfers.addressTexts.text(raw.local_ip, raw.local_port)
            if metrics.tlsVersion == nil, response.head?.version == .http3 {
                // libcurl exposes no TLS details of QUIC, which uses TLS 1.3 (RFC 9001, 4.2).
                metrics.tlsVersion = "TLSv1.3"
            }
            metrics.bytesSent = Int64(raw.request_size) + raw.uploaded
            metrics.bytesReceived = Int64(raw.header_size) + raw.downloaded
            metrics.decodedBytesReceived = response.deliveredBody
            metrics.attempt = request.attempt
        }
    }
}

/// Caches the texts `address:port` of both ends of connections, with IPv6 addresses in brackets.
///
/// A connection that serves many transfers has the same two addresses each time. Their texts are found by the values
/// that libcurl reports.
struct AddressTexts {
    private struct Entry {
        var port = -1
        /// The address as libcurl reports it.
        var address: [CChar] = []
        var text = ""

        func isOf(_ other: UnsafePointer<CChar>, _ length: Int, _ otherPort: Int) -> Bool {
            guard port == otherPort, address.count == length else { return false }
            return address.withUnsafeBufferPointer { known in
                known.baseAddress.map { memcmp($0, other, length) == 0 } ?? false
            }
        }
    }

    private static let slots = 256
    /// Longer than any address. A Unix socket's path may exceed it and is cut.
    private static let maximumLength = 100

    private var entries = [Entry](repeating: Entry(), count: slots)

    /// The text of an address that libcurl reports; `nil` if there is none.
    mutating func text(_ address: UnsafePointer<CChar>?, _ port: Int) -> String? {
        guard let address, address.pointee != 0 else { return nil }
        let length = strnlen(address, Self.maximumLength)
        // Addresses of one network differ at their end, connections of one host in their port.
        var hash = UInt(bitPattern: port) &+ UInt(length)
        for index in max(0, length - 6)..<length {
            hash = hash &* 31 &+ UInt(UInt8(truncatingIfNeeded: address[index]))
        }
        let slot = Int((hash &* 0x9E37_79B9_7F4A_7C15) >> 56) % Self.slots
        // Each address has two slots: two connections that shared one slot would replace each other's text every time.
        if entries[slot].isOf(address, length, port) { return entries[slot].text }
        if entries[slot ^ 1].isOf(address, length, port) { return entries[slot ^ 1].text }
        let free = entries[slot].port < 0 || entries[slot ^ 1].port >= 0 ? slot : slot ^ 1
        let bytes = UnsafeRawBufferPointer(start: address, count: length)
        let bare = String(decoding: bytes, as: UTF8.self)
        let host = port != 0 && bytes.contains(UInt8(ascii: ":")) ? "[\(bare)]" : bare
        let made = Entry(
            port: port,
            address: Array(UnsafeBufferPointer(start: address, count: length)),
            text: port > 0 ? "\(host):\(port)" : host
        )
        entries[free] = made
        return made.text
    }
}
