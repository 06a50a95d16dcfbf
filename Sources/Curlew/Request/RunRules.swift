/// The demands of the driver of a run.
struct RunRules: Sendable {
    /// Whether a status outside 200..<300 is an error unless the request has its own validation.
    var checksStatus: Bool
    /// Whether Curlew started the driver's task, and may cancel it.
    var ownsTask: Bool
}
