internal import BenchmarkSupport
internal import Curlew
internal import Foundation

/// Measures echoes. `window` messages are under way, and each one that is received makes the client send the next.
struct Echo {
    private let url: URL
    private let message: Data
    private let window: Int
    private let seconds: Double
    private let warmUp: Double
    /// A fixed number of messages instead of a time.
    private let count: Int?

    init(_ arguments: Arguments) throws {
        url = try arguments.url()
        message = Data(repeating: UInt8(ascii: "x"), count: arguments.number("size", or: 32))
        window = arguments.number("window", or: 1)
        seconds = arguments["seconds"].flatMap(Double.init) ?? 2
        warmUp = arguments["warm-up"].flatMap(Double.init) ?? 0.3
        count = arguments["count"].flatMap(Int.init)
    }

    func run() async throws -> Figures {
        let session = Session(configuration: SessionConfiguration { $0.proxy = .none })
        let socket = session.webSocket(url)
        try await socket.opened()
        for _ in 0..<window { try await socket.send(message) }
        var (received, countedFrom) = (0, 0)
        var (began, cpu) = (Tally.now(), ProcessFigures.cpuSeconds)
        let countAt = began + Int(warmUp * 1e9)
        let stopAt = countAt + Int(seconds * 1e9)
        var isWarm = count != nil
        for try await message in socket.messages {
            received += 1
            if let count {
                if received >= count { break }
            } else {
                let now = Tally.now()
                if now >= stopAt { break }
                if !isWarm, now >= countAt {
                    (isWarm, began, cpu, countedFrom) = (true, now, ProcessFigures.cpuSeconds, received)
                }
            }
            try await socket.send(message)
        }
        let elapsed = Double(Tally.now() - began) / 1e9
        return [
            "requests": [Double(received - countedFrom)], "seconds": [elapsed],
            "cpu": [ProcessFigures.cpuSeconds - cpu], "bytes": [Double((received - countedFrom) * message.count)],
            "rss_peak_kb": [Double(ProcessFigures.status("VmHWM"))],
        ]
    }
}
