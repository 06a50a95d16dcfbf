/// The version of the tool.
enum CurlewVersion {
    static let current = "0.1.0"
}
