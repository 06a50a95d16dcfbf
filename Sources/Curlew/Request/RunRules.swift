/// What the driver of a run wants of it.
struct RunRules: Sendable {
    /// Whether a status outside 200..<300 is an error unless the request has its own validation.
    var checksStatus: Bool
    /// Whether the driver's task is Curlew's, and may be cancelled.
    var ownsTask: Bool
}
