public import Curlew
public import Foundation

// Foundation's names for what an `EventMonitor` is told, as Alamofire's monitors write them. With Foundation's own types such a
// method would compile and never be called, since it is none of the protocol's. These names hide Foundation's in a file
// that imports this module; there Foundation's are `FoundationNetworking.URLSession` and so on. In a file that imports
// FoundationNetworking itself, too, the short name is ambiguous, which the compiler says.

/// What `EventMonitor` is told about a session.
public typealias URLSession = SessionReference
/// What `EventMonitor` is told about an exchange.
public typealias URLSessionTask = TaskIdentifier
/// What `EventMonitor` is told about an exchange.
public typealias URLSessionDataTask = TaskIdentifier
/// What `EventMonitor` is told about an exchange.
public typealias URLSessionUploadTask = TaskIdentifier
/// What `EventMonitor` is told about an exchange.
public typealias URLSessionDownloadTask = TaskIdentifier
/// What `EventMonitor` is told about an exchange that has ended.
public typealias URLSessionTaskMetrics = TransferMetrics
/// What `EventMonitor` is told about a response that is about to be stored, and what a `CachedResponseHandler` changes.
public typealias CachedURLResponse = CachedResponse

extension TransferMetrics {
    /// From when the transport received the exchange to its end.
    public var taskInterval: DateInterval { DateInterval(start: queued, end: max(queued, ended)) }
}
