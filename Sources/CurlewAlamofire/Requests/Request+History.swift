public import Curlew
public import FoundationNetworking

// Alamofire's lists, which combine all attempts.
extension Request {
    /// The initial and the adapted `URLRequest` of every attempt, and those of redirects.
    public var requests: [URLRequest] { attempts.flatMap(\.requests) }
    /// The first `URLRequest`, before any adapter.
    public var firstRequest: URLRequest? { requests.first }
    /// The last `URLRequest`, after adaptation.
    public var lastRequest: URLRequest? { request }
    /// The `URLRequest`s that were sent.
    public var performedRequests: [URLRequest] {
        // Requests before adapters are not sent, and the answer to a challenge is an exchange without a request.
        attempts.flatMap { $0.requests.dropFirst(max(0, $0.countWhenFinal - 1)).prefix($0.tasks.count) }
    }

    /// The identifiers of all exchanges.
    public var tasks: [TaskIdentifier] { attempts.flatMap(\.tasks) }
    /// The identifier of the first exchange.
    public var firstTask: TaskIdentifier? { tasks.first }
    /// The identifier of the last exchange.
    public var lastTask: TaskIdentifier? { tasks.last }

    /// The metrics of all exchanges.
    public var allMetrics: [TransferMetrics] { attempts.flatMap(\.metrics) }
    /// The metrics of the first exchange.
    public var firstMetrics: TransferMetrics? { allMetrics.first }
    /// The metrics of the last exchange.
    public var lastMetrics: TransferMetrics? { metrics }
}
