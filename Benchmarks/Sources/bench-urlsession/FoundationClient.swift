internal import BenchmarkSupport
internal import Foundation
internal import FoundationNetworking

/// FoundationNetworking's URLSession, used as its documentation says.
struct FoundationClient: Client {
    static var name: String { "urlsession" }

    private let options: Options
    private let session: URLSession
    private let delegate: DiscardingDelegate

    init(options: Options, tally: Tally) throws {
        self.options = options
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = options.usesHTTP2 ? 1 : options.inFlight
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.timeoutIntervalForRequest = 120
        delegate = DiscardingDelegate(tally: tally)
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    func run(_ url: URL, number: Int) async throws {
        var request = URLRequest(url: url)
        if options.closes { request.setValue("close", forHTTPHeaderField: "Connection") }
        switch options.mode {
        case .get, .hold:
            let (_, response) = try await session.data(for: request)
            try expectSuccess(response)
        case .json:
            let (data, response) = try await session.data(for: request)
            try expectSuccess(response)
            _ = try JSONDecoder().decode([Item].self, from: data)
        case .download:
            try expectSuccess(try await delegate.run { session.dataTask(with: request) })
        case .upload:
            guard let file = options.file else { throw UnexpectedAnswer("no file") }
            request.httpMethod = "PUT"
            let task = { session.uploadTask(with: request, fromFile: file) }
            try expectSuccess(try await delegate.run(task))
        case .multipart: throw UnexpectedAnswer("it has no forms")
        }
    }

    private func expectSuccess(_ response: URLResponse?) throws {
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        if status / 100 != 2 { throw UnexpectedAnswer("status \(status)") }
    }
}
