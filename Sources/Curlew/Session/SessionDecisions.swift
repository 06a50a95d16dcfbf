package import CurlewCore
package import Foundation
package import FoundationNetworking

// Used by other modules of this package: `CurlewAFNetworking` implements its hooks and its runtime headers with them.

/// Decisions for every request of a session. A property that is `nil` decides nothing.
package protocol SessionDecisions: Sendable {
    /// Called when the session was invalidated or released.
    var sessionDidBecomeInvalid: (@Sendable (SessionReference) -> Void)? { get }

    /// Returns another body if one that can be read only once has to be sent again.
    var newBodyStream: (@Sendable (Request) async -> BodySource?)? { get }

    /// Decides about redirects, if neither the session nor the request has a handler.
    var redirectHandler: (any RedirectHandler)? { get }

    /// Decides what to do with a response when its head has arrived.
    var responseDisposition: (@Sendable (Request, HTTPURLResponse) async -> Request.ResponseDisposition)? { get }

    /// Called when the body of a data request begins to be written to a file.
    var didBecomeDownload: (@Sendable (DataRequest, URL) -> Void)? { get }

    /// Returns the destination of a download, or `nil` to use the request's own.
    var downloadDestination:
        (
            @Sendable (Request, URL, HTTPURLResponse) -> (destinationURL: URL, options: DownloadRequest.Options)?
        )?
    { get }

    /// Returns the credentials to send a challenged request again with, or `nil` to deliver the response. A failure
    /// ends the request. The last parameter is the number of credentials that the server did not accept.
    var credentials:
        (
            @Sendable (Request, HTTPURLResponse, [AuthenticationChallenge], Int) async
                -> Result<TransferAuthentication?, any Error>
        )?
    { get }
}

/// Header fields that may change between two requests of a session.
package protocol ChangingHeaders: Sendable {
    /// The only origin that gets the fields. `nil` means every origin.
    var origin: URL? { get }

    /// Returns the session's own fields, with these taking precedence.
    func over(_ base: DefaultHeaders, for url: URL) -> DefaultHeaders
}
