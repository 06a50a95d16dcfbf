internal import BenchmarkSupport
internal import CurlewCore
internal import CurlewTransport
internal import Foundation

/// Curlew's engine through its public `Transport`: no session, no policy, no decoding.
struct EngineClient: Client {
    static var name: String { "engine" }

    private let options: Options
    private let tally: Tally
    private let transport: CurlTransport
    private let defaultHeaders: DefaultHeaders
    private let ownHeaders: HTTPHeaders
    private let transferOptions: TransferOptions

    init(options: Options, tally: Tally) throws {
        self.options = options
        self.tally = tally
        var configuration = TransportConfiguration()
        configuration.httpVersion = options.usesHTTP2 ? .http2 : .http1_1
        configuration.maximumConnectionsPerHost = max(6, options.inFlight)
        configuration.maximumConnections = max(256, options.inFlight)
        configuration.proxy = .none
        if let file = options.rootsFile {
            configuration.tls.trustRoots = options.hasRootsInMemory ? .pem(try Data(contentsOf: file)) : .file(file)
        }
        transport = CurlTransport(configuration: configuration)
        // A session's default fields, so that the requests are equal.
        defaultHeaders = DefaultHeaders([
            "Accept-Encoding": "br;q=1.0, gzip;q=0.9, deflate;q=0.8",
            "User-Agent": "bench-engine (Linux 6.18.44) Curlew/0.1.0",
        ])
        ownHeaders = options.closes ? ["Connection": "close"] : [:]
        var transferOptions = TransferOptions(maximumBodySize: 128 << 20)
        if options.mode == .download {
            transferOptions.maximumBodySize = nil
            transferOptions.purpose = .stream
        }
        transferOptions.expectContinue = .never
        self.transferOptions = transferOptions
    }

    func run(_ url: URL, number: Int) async throws {
        var body = BodySource.none
        if options.mode == .upload {
            guard let file = options.file else { throw UnexpectedAnswer("no file") }
            body = .file(file)
        }
        let request = TransferRequest(
            identifier: TaskIdentifier(rawValue: UInt64(number)),
            url: url,
            method: options.mode == .upload ? .put : .get,
            headers: ownHeaders,
            defaultHeaders: defaultHeaders,
            body: body,
            options: transferOptions
        )
        let sink = DiscardingSink(countsUploads: options.mode == .upload)
        let outcome = try await transport.perform(request, sink: sink)
        tally.add(bytes: sink.bytes)
        if outcome.head.status / 100 != 2 { throw UnexpectedAnswer("status \(outcome.head.status)") }
    }
}
