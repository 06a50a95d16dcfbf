internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// What a request was asked for, beside what it sends.
struct RequestOptions {
    var timeouts: Timeouts?
    var maximumBodySize: Int?
    /// Whether terminals take every status.
    var acceptsAnyStatus = false
    var authentication: TransferAuthentication?
    /// Whether credentials that the server accepts are kept for the session's other requests.
    var keepsAuthentication = false
    var redirectHandler: (any RedirectHandler)?
    var cachePolicy: CachePolicy?
    var cachedResponseHandler: (any CachedResponseHandler)?
    var adapters: [any RequestAdapter] = []
    var retriers: [any RequestRetrier] = []
    var validations: [Validation] = []
    var expectContinue = ExpectContinue.automatic
    var multiplexes = true
    /// Whether a body's fate is decided when its head has come.
    var asksAboutHead = false

    /// Chains are made link by link: few of them then grow more than once.
    mutating func add(adapter: any RequestAdapter) {
        if adapters.isEmpty { adapters.reserveCapacity(12) }
        adapters.append(adapter)
    }

    /// One `validate(…)`, its kind of body erased.
    typealias Validation = @Sendable (Request, URLRequest?, LazyResponse, ReceivedBody) -> CurlewError?
}

/// Closures that want to be told about the run as it goes.
struct RequestHooks {
    var taskDescription: String?
    var monitorQueues: [MonitorQueue] = []
    var uploadProgress: ProgressReporter?
    var downloadProgress: ProgressReporter?
    var onRequestCreation: Hook<URLRequest>?
    var onTaskCreation: Hook<TaskIdentifier>?
    var onHead: HeadHook?
    var onCURL: CURLHook?
    /// Streams that end with the request, and what to send them.
    var streams: [any RequestStream] = []
}

/// Options and hooks of one request. An object of its own, because few requests have any: the others need not carry the
/// room for them from thread to thread. Touched under the request's lock alone.
final class RequestExtras {
    var options = RequestOptions()
    var hooks = RequestHooks()
    /// The name of an exchange that was being set up when the request ended.
    var unusedTask: TaskIdentifier?
}
