public import Curlew
public import Foundation

// Foundation's names for the parameters of `EventMonitor`, as monitors for Alamofire write them. With Foundation's own
// types such a method would compile but never be called, because it is not a method of the protocol. These names hide
// Foundation's in a file that imports this module; there Foundation's types are `FoundationNetworking.URLSession` and
// so on. In a file that also imports FoundationNetworking, the short name is ambiguous, which the compiler reports.

/// The session that an `EventMonitor` receives.
public typealias URLSession = SessionReference
/// The exchange that an `EventMonitor` receives.
public typealias URLSessionTask = TaskIdentifier
/// The exchange that an `EventMonitor` receives.
public typealias URLSessionDataTask = TaskIdentifier
/// The exchange that an `EventMonitor` receives.
public typealias URLSessionUploadTask = TaskIdentifier
/// The exchange that an `EventMonitor` receives.
public typealias URLSessionDownloadTask = TaskIdentifier
/// The metrics that an `EventMonitor` receives when an exchange has ended.
public typealias URLSessionTaskMetrics = TransferMetrics
/// The response that is about to be stored, which an `EventMonitor` receives and a `CachedResponseHandler` changes.
public typealias CachedURLResponse = CachedResponse

extension TransferMetrics {
    /// The time from the transport's receipt of the exchange to its end.
    public var taskInterval: DateInterval { DateInterval(start: queued, end: max(queued, ended)) }
}
