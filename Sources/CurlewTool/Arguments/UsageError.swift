/// A command that cannot be carried out as written.
struct UsageError: Error, Equatable, Sendable {
    let message: String
    /// Advice on the correct spelling or another option.
    let hint: String?

    init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }
}
