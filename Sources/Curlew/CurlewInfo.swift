/// Facts about this library.
public enum CurlewInfo {
    /// Curlew's version, as in the default `User-Agent`.
    public static let version = "0.1.0"
}
