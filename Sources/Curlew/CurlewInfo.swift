@_exported public import CurlewCore
@_exported public import CurlewJSON
@_exported public import FoundationNetworking

/// Facts about this library.
public enum CurlewInfo {
    /// Curlew's version, as in the default `User-Agent`.
    public static let version = "0.1.0"
}
