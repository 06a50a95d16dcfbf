internal import Foundation

/// The address of a server and the credentials for it: `redis://user:password@host:port/database`.
struct RedisAddress: Sendable, Equatable {
    var host: String
    var port: Int32 = 6379
    var user: String?
    var password: String?
    var database: Int?

    /// Parses a URL. The error does not repeat the URL, which may hold a password.
    init(_ text: String) throws(RedisFault) {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased() else {
            throw .unusable("the URL of the Redis server is no URL")
        }
        guard scheme != "rediss" else { throw .unusable("TLS (rediss) is not supported") }
        guard scheme == "redis" else { throw .unusable("the URL of the Redis server does not begin with redis://") }
        guard let host = parts.host, !host.isEmpty else { throw .unusable("the URL of the Redis server names no host") }
        // The host of an IPv6 URL is in brackets.
        self.host = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        if let port = parts.port {
            guard (1...65535).contains(port) else { throw .unusable("the URL of the Redis server has no usable port") }
            self.port = Int32(port)
        }
        user = parts.user.flatMap { $0.isEmpty ? nil : $0 }
        password = parts.password
        let path = parts.path.drop { $0 == "/" }
        if !path.isEmpty {
            guard let number = Int(path), number >= 0 else {
                throw .unusable("the path of the URL of the Redis server is no number of a database")
            }
            database = number
        }
    }

    /// The commands that a new connection sends first.
    var greeting: [RedisCommand] {
        var commands: [RedisCommand] = []
        if let password { commands.append(RedisCommand(["AUTH"] + (user.map { [$0] } ?? []) + [password])) }
        if let database, database != 0 { commands.append(RedisCommand(["SELECT", "\(database)"])) }
        return commands
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
