/// The kind of an exchange's traffic, from which the network and the server derive its priority.
package enum TrafficClass: Sendable, Hashable {
    /// Traffic without special requirements.
    case normal
    /// Traffic for which no user is waiting.
    case background
    /// Video.
    case video
    /// Speech, which tolerates no delay.
    case voice
    /// The signalling of calls.
    case signalling

    /// The differentiated services code point of the packets (RFC 4594, 2.3).
    package var codePoint: UInt8 {
        switch self {
        case .normal: 0
        case .background: 8  // CS1
        case .video: 34  // AF41
        case .voice: 46  // EF
        case .signalling: 40  // CS5
        }
    }

    /// The value of a `Priority` field (RFC 9218); `nil` is the server's default, urgency 3.
    package var priority: String? {
        switch self {
        case .normal: nil
        case .background: "u=6"
        case .video: "u=2, i"
        case .voice, .signalling: "u=1"
        }
    }
}
