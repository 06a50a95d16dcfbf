internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// Says once in the process's log what of Foundation's configuration was set and has no meaning here.
enum FoundationNotice {
    private static let told = Lock<Set<String>>([])

    static func tell(of configuration: FoundationNetworking.URLSessionConfiguration) {
        // The configuration's objects may be a program's own: they are not asked under the lock.
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
