import CurlewCore
import Foundation
import Glibc

/// A blocking HTTP client that sends raw bytes and shows the server's bytes.
final class WireClient {
    /// The end of a connection: a FIN, a reset, or none yet.
    enum Ending: Equatable { case fin, reset, open }

    struct Response {
        var status: Int
        var reason: String
        var headers: HTTPHeaders
        var body = Data()
        var trailers: HTTPHeaders = [:]
        /// The sizes of the chunks; empty if the body was not chunked.
        var chunks: [Int] = []
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    struct Failure: Error { var text: String }

    private let descriptor: Int32
    private var isClosed = false
    private(set) var received = Data()
    private var position = 0
    private(set) var ending = Ending.open
    /// The time, in milliseconds, after which a read gives up.
    var patience: Int32 = 10_000

    init(port: Int, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // Without TCP_NODELAY the second of two small writes would wait for an acknowledgement.
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            let number = errno
            Glibc.close(descriptor)
            isClosed = true
            throw Failure(text: "connect: \(String(cString: strerror(number)))")
        }
    }

    deinit { close() }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        Glibc.close(descriptor)
    }

    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    @discardableResult
    func send(_ text: String) -> Bool { send(Data(text.utf8)) }

    /// Returns whether all bytes could be sent.
    @discardableResult
    func send(_ data: Data) -> Bool {
        data.withUnsafeBytes { buffer in
            var sent = 0
            while sent < buffer.count {
                let count = uninterrupted {
                    Glibc.send(descriptor, buffer.baseAddress! + sent, buffer.count - sent, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }

    /// Reads once. Returns `false` at the end of the connection, or if nothing arrives in time.
    @discardableResult
    func readMore(patience: Int32? = nil) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard uninterrupted({ poll(&entry, 1, patience ?? self.patience) }) > 0 else { return false }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = uninterrupted { recv(descriptor, &bytes, bytes.count, 0) }
        if count > 0 {
            received.append(contentsOf: bytes[..<count])
            return true
        }
        ending = count == 0 ? .fin : .reset
        return false
    }

    /// Reads until the connection ends, and returns all bytes that were received on it.
    @discardableResult
    func readToEnd() -> Data {
        while readMore() {}
        return received
    }

    func request(_ method: String, _ target: String, headers: [String] = [], body: String? = nil) throws -> Response {
        var text = "\(method) \(target) HTTP/1.1\r\nHost: test\r\n"
        for header in headers { text += header + "\r\n" }
        if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
        send(text + "\r\n" + (body ?? ""))
        return try response(hasBody: method != "HEAD")
    }

    /// Reads the next response, which may be a 1xx response.
    func response(hasBody: Bool = true) throws -> Response {
        let start = try line().split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard start.count == 3, start[0] == "HTTP/1.1", let status = Int(start[1]) else {
            throw Failure(text: "status line \(start)")
        }
        var response = Response(status: status, reason: String(start[2]), headers: try fields())
        guard hasBody, status >= 200, status != 204, status != 304 else { return response }
        if response.headers["Transfer-Encoding"] == "chunked" {
            while true {
                guard let size = Int(try line(), radix: 16) else { throw Failure(text: "chunk size") }
                if size == 0 { break }
                response.chunks.append(size)
                response.body.append(try bytes(size))
                guard try line().isEmpty else { throw Failure(text: "chunk end") }
            }
            response.trailers = try fields()
        } else if let length = response.headers["Content-Length"].flatMap({ Int($0) }) {
            response.body = try bytes(length)
        } else {
            readToEnd()
            response.body = received[position...]
            position = received.count
        }
        return response
    }

    func line() throws -> String {
        let end = Data("\r\n".utf8)
        while true {
            if let found = received.range(of: end, in: position..<received.count) {
                defer { position = found.upperBound }
                return String(decoding: received[position..<found.lowerBound], as: UTF8.self)
            }
            guard readMore() else { throw Failure(text: "no line, \(ending), \(received.count - position) bytes left") }
        }
    }

    func bytes(_ count: Int) throws -> Data {
        while received.count - position < count {
            guard readMore() else { throw Failure(text: "\(received.count - position) of \(count) bytes, \(ending)") }
        }
        defer { position += count }
        return Data(received[position..<position + count])
    }

    private func fields() throws -> HTTPHeaders {
        var fields: [HTTPHeader] = []
        while case let text = try line(), !text.isEmpty {
            guard let colon = text.range(of: ": ") else { throw Failure(text: "field \(text)") }
            fields.append(HTTPHeader(name: String(text[..<colon.lowerBound]), value: String(text[colon.upperBound...])))
        }
        return HTTPHeaders(received: fields)
    }
}

/// Repeats a call that a signal interrupted.
func uninterrupted<Result: BinaryInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        guard result == -1, errno == EINTR else { return result }
    }
}
