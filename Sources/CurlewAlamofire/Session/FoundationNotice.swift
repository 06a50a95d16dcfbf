internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// Writes to the process's log which properties of a Foundation configuration were set but have no effect. Each is
/// reported once.
enum FoundationNotice {
    private static let told = Lock<Set<String>>([])

    static func tell(of configuration: FoundationNetworking.URLSessionConfiguration) {
        // Read without the lock, because the configuration's objects may be of a program's own classes.
        let properties = properties(setIn: configuration)
        let new = told.withLock { told in properties.filter { told.insert($0).inserted } }
        guard !new.isEmpty else { return }
        let line = "Curlew: of a URLSessionConfiguration these have no effect: \(new.joined(separator: ", "))\n"
        try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
    }

    /// The properties whose values are not Foundation's defaults.
    static func properties(setIn configuration: FoundationNetworking.URLSessionConfiguration) -> [String] {
        let usual = FoundationNetworking.URLSessionConfiguration.default
        let own: [(String, Bool)] = [
            ("allowsCellularAccess", configuration.allowsCellularAccess != usual.allowsCellularAccess),
            ("isDiscretionary", configuration.isDiscretionary),
            ("networkServiceType", configuration.networkServiceType != .default),
            ("protocolClasses", Self.classes(configuration) != Self.classes(usual)),
            ("requestCachePolicy", configuration.requestCachePolicy != .useProtocolCachePolicy),
            ("urlCredentialStorage", configuration.urlCredentialStorage?.allCredentials.isEmpty == false),
        ]
        return own.filter(\.1).map(\.0)
    }

    private static func classes(_ configuration: FoundationNetworking.URLSessionConfiguration) -> [ObjectIdentifier] {
        (configuration.protocolClasses ?? []).map { ObjectIdentifier($0) }
    }
}
