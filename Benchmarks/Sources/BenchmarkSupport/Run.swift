internal import Dispatch
public import Foundation

/// A client that is measured, in one mode.
public protocol Client: Sendable {
    static var name: String { get }
    init(options: Options, tally: Tally) throws
    /// Carries out the `number`th request, to `url`, or throws.
    func run(_ url: URL, number: Int) async throws
}

/// A wrong result for which the client itself did not throw.
public struct UnexpectedAnswer: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// Measures `client` according to the command line, and prints one line of JSON.
///
/// Synchronous: an asynchronous `main` ends the process's first thread, which valgrind does not survive. Inlinable,
/// like the worker, so that the calls of the client are specialized, as in users' code.
@inlinable
public func measure<C: Client>(_ client: C.Type) {
    Harness.measure(C.name) { options, tally in
        let client = try C(options: options, tally: tally)
        return { urls in await worker(client, urls: urls, tally: tally) }
    }
}

/// Makes one request after the other until enough have been started.
@inlinable
func worker<C: Client>(_ client: C, urls: [URL], tally: Tally) async {
    let lane = tally.lane()
    while let number = tally.next(), !urls.isEmpty {
        let began = Tally.now()
        do {
            try await client.run(urls[number % urls.count], number: number)
            lane.succeeded(since: began)
        } catch {
            tally.failed(error)
        }
    }
}

@usableFromInline
enum Harness {
    @usableFromInline typealias Worker = @Sendable ([URL]) async -> Void

    @usableFromInline
    static func measure(_ name: String, _ prepare: @escaping @Sendable (Options, Tally) throws -> Worker) {
        guard let options = Options(CommandLine.arguments) else {
            FileHandle.standardError.write(Data("\(name) \(Options.usage)\n".utf8))
            exit(2)
        }
        ProcessFigures.raiseDescriptorLimit()
        let tally = Tally(count: options.count)
        let isDone = DispatchSemaphore(value: 0)
        // Detached, because the task would return to the main actor after each request otherwise.
        Task.detached {
            do {
                await measured(name, try prepare(options, tally), options: options, tally: tally)
            } catch {
                FileHandle.standardError.write(Data("\(name): \(error)\n".utf8))
                exit(1)
            }
            isDone.signal()
        }
        isDone.wait()
    }
}

private func measured(_ name: String, _ worker: @escaping Harness.Worker, options: Options, tally: Tally) async {
    let rssBefore = ProcessFigures.status("VmRSS")
    var began = Tally.now()
    var cpuBefore = ProcessFigures.cpuSeconds
    let isTimed = options.count == nil
    if !isTimed { tally.begin() }

    // Created in advance, so that the time in which Foundation creates a URL is not measured. There are enough of them
    // that successive requests differ.
    let urls = (0..<distinctURLs).compactMap { URL(string: "\(options.url)?\($0)") }
    let work = Task.detached {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<options.inFlight { group.addTask { await worker(urls) } }
        }
    }
    if isTimed {
        try? await Task.sleep(for: .seconds(options.warmUp))
        tally.begin()
        began = Tally.now()
        cpuBefore = ProcessFigures.cpuSeconds
        try? await Task.sleep(for: .seconds(options.seconds))
    } else {
        await work.value
    }
    let cpu = ProcessFigures.cpuSeconds - cpuBefore
    let elapsed = Double(Tally.now() - began) / 1e9
    report(client: name, values: tally.end(), elapsed: elapsed, cpu: cpu, rssBefore: rssBefore)
    // Requests that still run are not measured.
    exit(0)
}

private let distinctURLs = 1024

private func report(client: String, values: Tally.Values, elapsed: Double, cpu: Double, rssBefore: Int) {
    let error = (values.firstError ?? "").filter { $0 != "\"" && $0 != "\\" && !$0.isNewline }
    let fields: [(String, String)] = [
        ("client", "\"\(client)\""), ("requests", "\(values.succeeded)"), ("failures", "\(values.failed)"),
        ("seconds", "\(elapsed)"), ("cpu", "\(cpu)"), ("bytes", "\(values.bytes)"),
        ("rss_before_kb", "\(rssBefore)"), ("rss_peak_kb", "\(ProcessFigures.status("VmHWM"))"),
        ("threads", "\(ProcessFigures.status("Threads"))"),
        ("latency_us", "\(Double(values.nanoseconds) / Double(max(1, values.succeeded)) / 1000)"),
        ("error", "\"\(error.prefix(300))\""),
    ]
    print("{" + fields.map { "\"\($0.0)\": \($0.1)" }.joined(separator: ", ") + "}")
    fflush(nil)
}
