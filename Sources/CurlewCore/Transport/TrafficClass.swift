/// How a network should treat an exchange beside others.
package enum TrafficClass: Sendable, Hashable {
    /// Like everything else.
    case normal
    /// No user waits for it.
    case background
    /// Moving pictures.
    case video
    /// Speech, which bears no delay.
    case voice
    /// What sets calls up.
    case signalling

    /// The differentiated services code point of its packets (RFC 4594, 2.3).
    package var codePoint: UInt8 {
        switch self {
        case .normal: 0
        case .background: 8  // CS1
        case .video: 34  // AF41
        case .voice: 46  // EF
        case .signalling: 40  // CS5
        }
    }

    /// The value of a `Priority` field (RFC 9218); nil is the server's default, 3.
    package var priority: String? {
        switch self {
        case .normal: nil
        case .background: "u=6"
        case .video: "u=2, i"
        case .voice, .signalling: "u=1"
        }
    }
}
