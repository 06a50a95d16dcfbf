/// A command line that cannot be carried out as it stands.
struct UsageError: Error, Equatable, Sendable {
    let message: String
    /// What to write instead.
    let hint: String?

    init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }
}
