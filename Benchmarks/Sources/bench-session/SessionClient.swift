internal import BenchmarkSupport
internal import Curlew
internal import Foundation

/// The whole library, used like in applications.
struct SessionClient: Client {
    static var name: String { "session" }

    private let options: Options
    private let tally: Tally
    private let session: Session

    init(options: Options, tally: Tally) throws {
        self.options = options
        self.tally = tally
        let connections = options.connections ?? options.inFlight
        let version: HTTPVersionPolicy = options.usesHTTP3 ? .http3 : options.usesHTTP2 ? .http2 : .http1_1
        let configuration = try SessionConfiguration {
            $0.httpVersion = version
            $0.maximumConnectionsPerHost = max(6, connections)
            $0.maximumConnections = max(256, connections)
            $0.proxy = .none
            if options.isCached { $0.cache = ResponseCache() }
            if options.isHedging {
                var hedging = Hedging.after(.seconds(1))
                hedging.methods = [.head]
                $0.resilience.hedging = hedging
            }
            if options.isResilient {
                $0.resilience.rateLimit = .requests(1_000_000, per: .seconds(1), burst: 1_000_000)
                $0.resilience.breaker = CircuitBreaker()
            }
            if let file = options.rootsFile {
                $0.tls.trustRoots = options.hasRootsInMemory ? .pem(try Data(contentsOf: file)) : .file(file)
            }
        }
        var transport: (any Transport)?
        if options.engines > 1 { transport = SharedAmongEngines(configuration, count: options.engines) }
        if options.isDecorated { transport = ForwardingTransport(wrapped: transport ?? configuration.makeTransport()) }
        session = Session(
            configuration: configuration,
            transport: transport,
            eventMonitors: options.isChained ? Chain.monitors() : []
        )
    }

    func run(_ url: URL, number: Int) async throws {
        let headers: HTTPHeaders? = options.closes ? ["Connection": "close"] : nil
        switch options.mode {
        case .get, .hold:
            let request = session.request(url, headers: headers)
            if options.isChained { Chain.add(to: request) }
            tally.add(bytes: try await request.data().count)
        case .json, .download, .upload, .multipart: try await runWithBody(url, headers)
        }
    }

    /// A separate function, so that its frame does not enlarge the one of a small GET.
    private func runWithBody(_ url: URL, _ headers: HTTPHeaders?) async throws {
        switch options.mode {
        case .get, .hold: break
        case .json: _ = try await session.request(url, headers: headers).decode([Item].self)
        case .download where options.file != nil:
            guard let file = options.file else { throw UnexpectedAnswer("no file") }
            let request = session.download(url, headers: headers, to: { _, _ in (file, .removePreviousFile) })
            tally.add(bytes: try Self.size(of: try await request.file()))
        case .download:
            for try await chunk in session.streamRequest(url, headers: headers).chunks { tally.add(bytes: chunk.count) }
        case .upload:
            guard let file = options.file else { throw UnexpectedAnswer("no file") }
            _ = try await session.upload(file, to: url, method: .put, headers: headers).data()
            tally.add(bytes: try Self.size(of: file))
        case .multipart:
            guard let file = options.file else { throw UnexpectedAnswer("no file") }
            let request = session.upload(multipartFormData: { $0.append(file, withName: "file") }, to: url)
            _ = try await request.data()
            tally.add(bytes: try Self.size(of: file))
        }
    }

    private static func size(of file: URL) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int ?? 0
    }
}
