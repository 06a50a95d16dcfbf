internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// The options of a request beyond what it sends.
struct RequestOptions {
    var timeouts: Timeouts?
    var maximumBodySize: Int?
    /// Whether awaiting methods accept every status.
    var acceptsAnyStatus = false
    var authentication: TransferAuthentication?
    /// Whether the session stores the credentials for other requests once the server has accepted them.
    var keepsAuthentication = false
    var redirectHandler: (any RedirectHandler)?
    var cachePolicy: CachePolicy?
    var cachedResponseHandler: (any CachedResponseHandler)?
    var adapters: [any RequestAdapter] = []
    var retriers: [any RequestRetrier] = []
    var validations: [Validation] = []
    var expectContinue = ExpectContinue.automatic
    var multiplexes = true
    /// Whether the user decides about the body when its head has arrived.
    var asksAboutHead = false

    /// Adds an adapter. The first one reserves room for a chain.
    mutating func add(adapter: any RequestAdapter) {
        if adapters.isEmpty { adapters.reserveCapacity(12) }
        adapters.append(adapter)
    }

    /// A validation for every kind of body.
    typealias Validation = @Sendable (Request, URLRequest?, LazyResponse, ReceivedBody) -> CurlewError?
}

/// Closures that are called during the run.
struct RequestHooks {
    var taskDescription: String?
    var monitorQueues: [MonitorQueue] = []
    var uploadProgress: ProgressReporter?
    var downloadProgress: ProgressReporter?
    var onRequestCreation: Hook<URLRequest>?
    var onTaskCreation: Hook<TaskIdentifier>?
    var onHead: HeadHook?
    var onCURL: CURLHook?
    /// Streams of the request's values, which end with the request.
    var streams: [any RequestStream] = []
}

/// The options and hooks of one request. A class, so that an absent value costs one pointer in every request. Protected
/// by the request's lock.
final class RequestExtras {
    var options = RequestOptions()
    var hooks = RequestHooks()
}
