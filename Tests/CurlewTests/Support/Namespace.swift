import Foundation

/// A network namespace, made by ip-netns(8).
struct Namespace {
    let name: String
    var path: String { "/run/netns/\(name)" }

    /// Whether the tests run: they need root, iproute2 and a kernel that allows namespaces. In CI they always run.
    static let isAvailable: Bool = {
        do {
            let probe = try Namespace()
            probe.remove()
            return true
        } catch {
            print("SKIPPED: a test in a network namespace needs root and `ip netns` (iproute2): \(error)")
            return ProcessInfo.processInfo.environment["CI"] == "true"
        }
    }()

    init() throws {
        name = "curlew-\(ProcessInfo.processInfo.processIdentifier)-\(Int.random(in: 0..<1_000_000))"
        try Self.run(["netns", "add", name])
    }

    /// Adds a veth pair, and a default route through one of its ends.
    func addPair() throws {
        try ip("link", "add", "v0", "type", "veth", "peer", "name", "v1")
        try ip("addr", "add", "10.99.0.1/24", "dev", "v0")
        try ip("link", "set", "v0", "up")
        try ip("link", "set", "v1", "up")
        try ip("route", "add", "default", "via", "10.99.0.2")
    }

    func ip(_ arguments: String...) throws { try ip(arguments) }

    func ip(_ arguments: [String]) throws { try Self.run(["-n", name] + arguments) }

    func remove() { try? Self.run(["netns", "del", name]) }

    /// Runs ip(8) in the host's network.
    static func run(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["ip"] + arguments
        let errors = Pipe()
        // Foundation's `Process` retains itself and its pipes.
        defer { try? errors.fileHandleForReading.close() }
        process.standardError = errors
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(text: String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self))
        }
    }

    private struct Failure: Error { var text: String }
}
