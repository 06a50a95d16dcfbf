public import Curlew
public import Foundation

// AFNetworking's limit for slow connections. `SessionConfiguration.uploadRateLimit` limits every upload of a session.
extension MultipartFormData {
    /// A packet size for mobile connections, with pauses of `suggestedThrottleDelay`.
    public static let suggestedThrottlePacketSize = 16_384
    /// The pause between packets that AFNetworking suggests, in seconds.
    public static let suggestedThrottleDelay: TimeInterval = 0.2

    /// Limits the speed: packets of at most `packetSize` bytes are sent with a pause of `delay` seconds after each.
    public func throttleBandwidth(
        packetSize: Int = suggestedThrottlePacketSize,
        delay: TimeInterval = suggestedThrottleDelay
    ) {
        throttle(packetSize: packetSize, delay: delay)
    }
}
