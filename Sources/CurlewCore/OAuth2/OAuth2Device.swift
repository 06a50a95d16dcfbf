public import Foundation

/// A login that a user completes on another device (RFC 8628, 3.2).
///
/// ```swift
/// let login = try await client.authorizeDevice()
/// print("Open \(login.verificationURL) and enter \(login.userCode)")
/// let token = try await client.token(for: login)
/// ```
public struct OAuth2DeviceLogin: Sendable, Hashable {
    /// The code for the user to enter.
    public let userCode: String
    /// The page for the user to open.
    public let verificationURL: URL
    /// The page with the code in its URL, for instance for a QR code; `nil` if the server offers none.
    public let completeVerificationURL: URL?
    /// The time at which the codes expire, for instance to show it.
    public let expires: Date
    /// The time of expiry on the monotonic clock, which changes of the system's time do not affect.
    package let deadline: ContinuousClock.Instant
    package let deviceCode: String
    package let interval: Duration
}

extension OAuth2DeviceLogin: CustomStringConvertible, CustomReflectable {
    /// The page, without the codes.
    public var description: String { "device login at \(Redaction.redacted(verificationURL).absoluteString)" }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The pace at which a client asks whether the user has confirmed a device (RFC 8628, 3.5).
package struct DevicePolling: Sendable {
    package private(set) var interval: Duration

    package init(interval: Duration) { self.interval = max(interval, .zero) }

    /// Whether to ask again after `interval`, which this may extend. `false` if the error is final.
    package mutating func continues(after error: CurlewError) -> Bool {
        switch error.oauth2Error?.code {
        case .authorizationPending?: return true
        case .slowDown?:
            interval += .seconds(5)
            return true
        case .serverError?, .temporarilyUnavailable?: break
        default:
            // The user may have confirmed the login, so a temporary failure must not end it.
            let status = error.responseCode ?? 0
            guard error.isTimeout || error.isConnectivity || status >= 500 || status == 429 else { return false }
        }
        backOff()
        return true
    }

    /// Doubles the interval, up to a minute (RFC 8628, 3.5).
    private mutating func backOff() { interval = min(max(interval * 2, .seconds(1)), max(interval, .seconds(60))) }
}
