/// The importance of a request in comparison with others that wait.
///
///     session.request(url).priority(.background)
///
/// It orders the requests that wait for a limit of ``Resilience``: by priority, then by arrival. It is also sent as a
/// field `Priority` (RFC 9218), by which servers order their responses.
public struct RequestPriority: Sendable, Hashable, Comparable {
    /// The urgency of RFC 9218: 0 is the most urgent, 7 the least.
    public let urgency: Int

    /// Creates a priority. An urgency outside 0...7 becomes the nearest one inside.
    public init(urgency: Int) { self.urgency = min(max(urgency, 0), 7) }

    /// Somebody waits, and everything else depends on the response.
    public static let critical = RequestPriority(urgency: 0)
    /// Somebody waits for the response.
    public static let high = RequestPriority(urgency: 1)
    /// The default.
    public static let normal = RequestPriority(urgency: 3)
    /// The response is wanted soon.
    public static let low = RequestPriority(urgency: 5)
    /// Nobody waits: prefetching, synchronization.
    public static let background = RequestPriority(urgency: 7)

    /// Whether the first priority is the less important one.
    public static func < (left: RequestPriority, right: RequestPriority) -> Bool { left.urgency > right.urgency }

    /// The value of the field `Priority`. `nil` for the default of RFC 9218, which needs no field.
    package var fieldValue: String? { self == .normal ? nil : "u=\(urgency)" }
}
