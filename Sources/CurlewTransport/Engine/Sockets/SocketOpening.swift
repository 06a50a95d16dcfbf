internal import CCurl
internal import CurlewCore
internal import Glibc

extension Sockets {
    /// Opens a socket for the transfer's connection, or for one of libcurl's name servers. Returns CURL_SOCKET_BAD if
    /// the address policy refuses the address or the system has no socket.
    func open(for transfer: ActiveTransfer, _ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        loop.assertOnLoop()
        // A configured proxy is trusted, whatever its address. The plan decides which requests bypass it and tells
        // libcurl, which decides nothing itself.
        if settings.refusesPrivateAddresses, !transfer.usesProxy(settings) {
            let refused = withUnsafePointer(to: &address.pointee.addr) { AddressGuard.refusal(of: $0) }
            if let refused {
                transfer.connection.refusedAddress = refused
                return CURL_SOCKET_BAD
            }
        }
        let fd = socket(
            address.pointee.family,
            address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue),
            address.pointee.protocol
        )
        guard fd >= 0 else {
            transfer.connection.socketFailed(errno)
            return -1
        }
        transfer.connection.socketOpened(fd)
        let isTCP = address.pointee.socktype == Int32(SOCK_STREAM.rawValue) && address.pointee.family != AF_UNIX
        if isTCP { settings.keepAlive?.apply(to: fd) }
        let traffic = transfer.request.options.trafficClass
        if traffic != .normal { SocketMarking.mark(fd, family: address.pointee.family, as: traffic) }
        poller.socketOpened(fd, mayVanish: settings.quirks.closesUnseen)
        if settings.quirks.forgetsNextAddress { connecting.opened(for: transfer, at: now) }
        return fd
    }
}

/// Decides which addresses a transport with `.publicOnly` refuses: all that do not belong to the public internet.
enum AddressGuard {
    /// The text of an address that is refused; `nil` if it may be connected to.
    static func refusal(of address: UnsafePointer<sockaddr>) -> String? {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { pointer in
                let value = UInt32(bigEndian: pointer.pointee.sin_addr.s_addr)
                return isPublic(v4: value) ? nil : text(v4: value)
            }
        case AF_INET6:
            // curl_sockaddr has room for an IPv6 address; `sockaddr` is shorter, so the bytes are copied out.
            var copy = sockaddr_in6()
            memcpy(&copy, address, MemoryLayout<sockaddr_in6>.size)
            let bytes = withUnsafeBytes(of: copy.sin6_addr) { Array($0) }
            return isPublic(v6: bytes) ? nil : text(v6: bytes)
        default:
            return "a local socket"
        }
    }

    /// The special-purpose blocks of RFC 6890 and its registry, multicast and reserved space.
    private static let refusedV4: [(base: UInt32, bits: UInt32)] = [
        (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16),
        (0xAC10_0000, 12), (0xC000_0000, 24), (0xC000_0200, 24), (0xC058_6300, 24), (0xC0A8_0000, 16),
        (0xC612_0000, 15), (0xC633_6400, 24), (0xCB00_7100, 24), (0xE000_0000, 4), (0xF000_0000, 4),
    ]

    static func isPublic(v4 address: UInt32) -> Bool {
        refusedV4.allSatisfy { (address ^ $0.base) >> (32 - $0.bits) != 0 }
    }

    static func isPublic(v6 bytes: [UInt8]) -> Bool {
        guard bytes.count == 16 else { return false }
        let v4 = { (index: Int) in bytes[index..<(index + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }
        let leadingZeros = bytes.prefix { $0 == 0 }.count
        // ::ffff:a.b.c.d carries an IPv4 address that decides. ::a.b.c.d, ::1 and :: are refused.
        if leadingZeros == 10, bytes[10] == 0xFF, bytes[11] == 0xFF { return isPublic(v4: v4(12)) }
        if leadingZeros >= 12 { return false }
        // 64:ff9b::/96 (NAT64) and 2002::/16 (6to4) carry an IPv4 address that decides. The rest of 64:ff9b::/32, which
        // includes the local NAT64 prefix 64:ff9b:1::/48, is refused.
        if bytes[0] == 0x00, bytes[1] == 0x64, bytes[2] == 0xFF, bytes[3] == 0x9B {
            return bytes[4..<12].allSatisfy { $0 == 0 } && isPublic(v4: v4(12))
        }
        if bytes[0] == 0x20, bytes[1] == 0x02 { return isPublic(v4: v4(2)) }
        // Only 2000::/3 is global unicast. Its blocks for Teredo, benchmarking, ORCHID and documentation are refused.
        guard bytes[0] & 0xE0 == 0x20 else { return false }
        if bytes[0] == 0x20, bytes[1] == 0x01 {
            if bytes[2] == 0x0D, bytes[3] == 0xB8 { return false }
            if bytes[2] < 0x02 { return false }
            if bytes[2] == 0x00, bytes[3] == 0x02 { return false }
        }
        return !(bytes[0] == 0x3F && bytes[1] == 0xFF && bytes[2] & 0xF0 == 0)
    }

    private static func text(v4 address: UInt32) -> String {
        "\(address >> 24).\(address >> 16 & 255).\(address >> 8 & 255).\(address & 255)"
    }

    private static func text(v6 bytes: [UInt8]) -> String {
        stride(from: 0, to: 16, by: 2).map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }
            .joined(separator: ":")
    }
}

/// Sets the traffic class in the packets of a socket, which tells routers how to treat them.
enum SocketMarking {
    /// Best effort: if the system does not permit it, packets stay unmarked.
    static func mark(_ socket: Int32, family: Int32, as traffic: TrafficClass) {
        // The code point occupies the upper six of the eight bits.
        var value = Int32(traffic.codePoint) << 2
        let size = socklen_t(MemoryLayout<Int32>.size)
        if family == AF_INET6 {
            setsockopt(socket, Int32(IPPROTO_IPV6), IPV6_TCLASS, &value, size)
        }
        // Set on IPv6 sockets as well, for IPv4 addresses that are reached over them.
        setsockopt(socket, Int32(IPPROTO_IP), IP_TOS, &value, size)
    }
}

extension KeepAlive {
    /// Makes the system probe idle connections on a new TCP socket. Best effort: if the system rejects a value, its
    /// default remains.
    func apply(to socket: Int32) {
        set(SOL_SOCKET, SO_KEEPALIVE, 1, on: socket)
        let level = Int32(IPPROTO_TCP)
        // Linux accepts at most 32767 s and 127 probes.
        set(level, TCP_KEEPIDLE, seconds(idle), on: socket)
        set(level, TCP_KEEPINTVL, seconds(interval), on: socket)
        set(level, TCP_KEEPCNT, count, on: socket)
        if let unacknowledgedTimeout { setTimeout(unacknowledgedTimeout.clampedMilliseconds, on: socket) }
    }

    /// Makes the system end a connection whose sent bytes stay unacknowledged for as long as an idle peer may be silent,
    /// unless the configuration sets another time. Called for connections of HTTP/2.
    ///
    /// The system would otherwise try for 15 minutes, in which it sends no probes; so each PING would postpone the
    /// moment at which a vanished peer is noticed. The timeout also ends a connection whose peer lives and reads
    /// nothing. Servers of HTTP/2 read on, and stop a sender by the windows of its streams. A server of HTTP/1 or of a
    /// byte connection has no other way to slow its client down, so these keep the system's timeout.
    func limitUnacknowledged(on socket: Int32) {
        guard unacknowledgedTimeout == nil else { return }
        setTimeout((Int(seconds(idle)) + Int(seconds(interval)) * Int(count)) * 1_000, on: socket)
    }

    private var count: Int32 { Int32(min(max(1, probes), 127)) }

    private func setTimeout(_ milliseconds: Int, on socket: Int32) {
        set(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(clamping: max(1, milliseconds)), on: socket)
    }

    private func seconds(_ duration: Duration) -> Int32 { Int32(min(max(1, duration.components.seconds), 32_767)) }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32, on socket: Int32) {
        var value = value
        setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
