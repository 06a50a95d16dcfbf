internal import BenchmarkSupport
internal import Curlew
internal import CurlewTransport
internal import Foundation

/// The session that is measured, over libcurl or, without a `url`, over a transport without a network.
struct Subject: Sendable {
    let session: Session
    private let answered: String
    private let kept: String
    private let engine: CurlTransport?

    init(_ arguments: Arguments) throws {
        // Constant, because the limit decides how many multi handles there are.
        let limit = arguments.number("limit", or: 10_100)
        let configuration = SessionConfiguration {
            $0.httpVersion = .http1_1
            $0.maximumConnectionsPerHost = limit
            $0.maximumConnections = limit
            $0.proxy = .none
        }
        answered = arguments["url"] ?? "\(NoNetwork.origin)/answered"
        kept = arguments["kept"] ?? NoNetwork.kept
        let transport: any Transport = arguments["url"] == nil ? NoNetwork() : configuration.makeTransport()
        engine = transport as? CurlTransport
        session = Session(configuration: configuration, transport: transport)
    }

    /// Sends a request that gets a response at once. Each has another URL, as in real use.
    func get(_ number: Int) async throws {
        guard let url = URL(string: "\(answered)?\(number)") else { throw Arguments.Missing("url") }
        if try await session.request(url).data().isEmpty { throw UnexpectedAnswer("no body") }
    }

    /// Sends a request that gets no response. Returns whether it was cancelled.
    func wait(_ number: Int) async -> Bool {
        guard let url = URL(string: "\(kept)?\(number)") else { return false }
        do {
            _ = try await session.request(url).data()
            return false
        } catch {
            return error.isCancellation
        }
    }

    /// Returns when `count` requests are in flight and the counters do not change.
    func untilQuiet(_ count: Int) async throws {
        while await session.activeRequests.count < count { try await Task.sleep(for: .milliseconds(2)) }
        guard let engine else { return }
        var turns = -1
        while engine.statistics.openSockets < count || engine.statistics.loopTurns != turns {
            turns = engine.statistics.loopTurns
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Whether no request is left.
    var isEmpty: Bool {
        get async {
            guard await session.activeRequests.isEmpty else { return false }
            guard let engine else { return true }
            return engine.statistics.liveTransfers == 0 && engine.statistics.easyHandlesInUse == 0
        }
    }
}
