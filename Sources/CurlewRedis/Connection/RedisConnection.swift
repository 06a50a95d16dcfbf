internal import CHiredis
internal import Foundation
internal import Glibc

/// A connection to a server. Used on one lane only.
///
/// hiredis formats commands and parses replies. Connecting, sending and waiting are done here, with a deadline and
/// without SIGPIPE.
final class RedisConnection {
    typealias Instant = ContinuousClock.Instant

    private let context: UnsafeMutablePointer<redisContext>
    /// The most bytes that one exchange may receive. More cannot be the replies to its commands.
    private let maximumAnswer: Int
    private var input = [UInt8](repeating: 0, count: 64 << 10)

    /// Connects to an address.
    init(to address: String, port: Int32, deadline: Instant, maximumAnswer: Int) throws(RedisFault) {
        self.maximumAnswer = maximumAnswer
        let descriptor = try Self.connecting(to: address, port)
        guard let context = redisConnectFd(descriptor) else {
            close(descriptor)
            throw .unreachable("no memory")
        }
        self.context = context
        guard context.pointee.err == 0 else { throw .unreachable(Self.text(context)) }
        try wait(POLLOUT, until: deadline)
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0, code == 0 else {
            throw .unreachable(String(cString: strerror(code)))
        }
    }

    deinit { redisFree(context) }

    /// Opens a socket and begins to connect it. A socket of hiredis would lack `SOCK_CLOEXEC`, and programs that are
    /// started meanwhile would inherit it.
    private static func connecting(to address: String, _ port: Int32) throws(RedisFault) -> Int32 {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address, "\(port)", &hints, &found) == 0, let found else {
            throw .unreachable("\(address) is no address")
        }
        defer { freeaddrinfo(found) }
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(found.pointee.ai_family, kind, 0)
        guard descriptor >= 0 else { throw .unreachable(String(cString: strerror(errno))) }
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        guard connect(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0 || errno == EINPROGRESS else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw .unreachable(reason)
        }
        return descriptor
    }

    private var descriptor: Int32 { Int32(context.pointee.fd) }

    /// Sends the commands together and returns their replies in order. After an error the connection cannot be used
    /// again.
    func exchange(_ commands: [RedisCommand], deadline: Instant) throws(RedisFault) -> [RedisReply] {
        var output = Data()
        for command in commands { output.append(Self.encoded(command)) }
        var (replies, received): ([RedisReply], Int) = ([], 0)
        while replies.count < commands.count {
            try wait(output.isEmpty ? POLLIN : POLLIN | POLLOUT, until: deadline)
            if !output.isEmpty { try send(&output) }
            received += try receive()
            guard received <= maximumAnswer else { throw .garbage("too long an answer") }
            while let reply = try nextReply() { replies.append(reply) }
        }
        // A Redis server that has understood the commands does not send more replies than commands.
        guard replies.count == commands.count else { throw .garbage("more answers than questions") }
        return replies
    }

    private func send(_ output: inout Data) throws(RedisFault) {
        let sent = output.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        }
        guard sent >= 0 else {
            if errno == EAGAIN || errno == EINTR { return }
            throw .unreachable(String(cString: strerror(errno)))
        }
        output = sent == output.count ? Data() : output.dropFirst(sent)
    }

    /// Feeds received bytes to the parser and returns their number.
    private func receive() throws(RedisFault) -> Int {
        let count = recv(descriptor, &input, input.count, Int32(MSG_DONTWAIT))
        guard count != 0 else { throw .unreachable("the server has closed the connection") }
        guard count > 0 else {
            if errno == EAGAIN || errno == EINTR { return 0 }
            throw .unreachable(String(cString: strerror(errno)))
        }
        let isFed = input.withUnsafeBytes {
            redisReaderFeed(context.pointee.reader, $0.baseAddress?.assumingMemoryBound(to: CChar.self), count)
                == REDIS_OK
        }
        guard isFed else { throw .garbage("no answer") }
        return count
    }

    private func nextReply() throws(RedisFault) -> RedisReply? {
        var reply: UnsafeMutableRawPointer?
        guard redisReaderGetReply(context.pointee.reader, &reply) == REDIS_OK else { throw .garbage("no answer") }
        guard let reply else { return nil }
        defer { freeReplyObject(reply) }
        return RedisReply(reply.assumingMemoryBound(to: redisReply.self))
    }

    private func wait(_ events: Int32, until deadline: Instant) throws(RedisFault) {
        while true {
            let rest = ContinuousClock.now.duration(to: deadline)
            guard rest > .zero else { throw .timedOut }
            var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            let ready = poll(&entry, 1, Int32(min(rest / .milliseconds(1) + 1, 60_000)))
            if ready > 0 { return }
            guard ready == 0 || errno == EINTR else { throw .unreachable(String(cString: strerror(errno))) }
        }
    }

    private static func encoded(_ command: RedisCommand) -> Data {
        // One buffer holds all arguments, and the addresses point into it. hiredis copies the bytes.
        var (all, starts): (Data, [Int]) = (Data(), [])
        for argument in command.arguments {
            starts.append(all.count)
            all.append(argument)
        }
        all.append(0)
        let lengths = command.arguments.map(\.count)
        var target: UnsafeMutablePointer<CChar>?
        let count = all.withUnsafeBytes { bytes -> Int in
            let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            var addresses = starts.map { start in base.map { $0 + start } }
            return Int(redisFormatCommandArgv(&target, Int32(addresses.count), &addresses, lengths))
        }
        guard let target, count > 0 else { return Data() }
        defer { redisFreeCommand(target) }
        return Data(bytes: target, count: count)
    }

    private static func text(_ context: UnsafeMutablePointer<redisContext>) -> String {
        withUnsafeBytes(of: context.pointee.errstr) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

/// One command: its name and arguments.
struct RedisCommand: Sendable {
    let arguments: [Data]
    /// The expected size of the reply, if it is large.
    private(set) var answerBytes = 0

    /// The approximate number of bytes sent and received.
    var bytes: Int { arguments.reduce(answerBytes) { $0 + $1.count } }

    init(_ arguments: [Data]) { self.arguments = arguments }
    init(_ arguments: [String]) { self.arguments = arguments.map { Data($0.utf8) } }
    init(_ arguments: String...) { self.init(arguments) }

    /// `EVAL` of a script, with its keys and further arguments.
    init(script: String, keys: [String], _ arguments: [Data]) {
        self.init((["EVAL", script, "\(keys.count)"] + keys).map { Data($0.utf8) } + arguments)
    }

    func expecting(_ bytes: Int) -> RedisCommand {
        var command = self
        command.answerBytes = bytes
        return command
    }
}

/// A reply of the server.
enum RedisReply: Sendable, Equatable {
    case null
    case status(String)
    case integer(Int64)
    case bytes(Data)
    case array([RedisReply])
    case error(String)

    init(_ reply: UnsafeMutablePointer<redisReply>) {
        let value = reply.pointee
        switch value.type {
        case REDIS_REPLY_STRING: self = .bytes(Self.data(value))
        case REDIS_REPLY_STATUS: self = .status(String(decoding: Self.data(value), as: UTF8.self))
        case REDIS_REPLY_ERROR: self = .error(String(decoding: Self.data(value), as: UTF8.self))
        case REDIS_REPLY_INTEGER: self = .integer(value.integer)
        case REDIS_REPLY_ARRAY:
            self = .array((0..<Int(value.elements)).map { value.element[$0].map { RedisReply($0) } ?? .null })
        // The constants are C integers, so the switch needs a default. The null reply is the only other type of RESP2.
        default: self = .null
        }
    }

    private static func data(_ reply: redisReply) -> Data {
        reply.str.map { Data(bytes: $0, count: Int(reply.len)) } ?? Data()
    }

    var data: Data? { if case .bytes(let data) = self { data } else { nil } }
    var number: Int64? { if case .integer(let number) = self { number } else { nil } }
    var elements: [RedisReply]? { if case .array(let elements) = self { elements } else { nil } }
    var isOK: Bool { self == .status("OK") }
    var isError: Bool { if case .error = self { true } else { false } }
}
