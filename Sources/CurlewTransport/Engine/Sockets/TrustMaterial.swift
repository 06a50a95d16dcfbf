internal import CCurl
internal import CurlewCore
internal import Foundation
internal import Glibc

/// Resources of a transport's trust that Swift does not manage: roots in a memory file, a parsed store, and the
/// descriptor of the key log. Freed with the transport's last handle.
// SAFETY: everything is written in init; OpenSSL counts the store's references atomically.
final class TrustMaterial: @unchecked Sendable {
    let options: [OptionValue]
    private var memoryFile: Int32 = -1
    private var keyLog: Int32 = -1
    private var store: UnsafeMutableRawPointer?

    init(_ strategy: TrustStrategy, revocationList: URL? = nil, keyLogFile: URL?) throws(CurlewError) {
        var options: [OptionValue] = []
        switch strategy {
        case .libcurlDefault, .cachedBundle, .cachedFile, .directory, .unused: break
        case .cachedPEM(let data):
            memoryFile = data.withUnsafeBytes { curlew_memory_file($0.baseAddress, UInt64($0.count)) }
            guard memoryFile >= 0 else { throw Self.failure("the trusted roots cannot be kept in memory", errno) }
            options = TLSPlan.file("/proc/self/fd/\(memoryFile)")
        case .sharedStore(let source):
            guard let store = Self.makeStore(source) else {
                throw Self.failure("the trusted roots cannot be read", 0)
            }
            self.store = store
            if let path = revocationList?.path(percentEncoded: false),
                curlew_tls_store_add_revocations(store, path) == 0
            {
                throw Self.failure("the revocation list cannot be read", 0)
            }
        }
        if let keyLogFile {
            keyLog = open(keyLogFile.path(percentEncoded: false), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard keyLog >= 0 else { throw Self.failure("the key log cannot be opened", errno) }
        }
        self.options = options
    }

    deinit {
        if memoryFile >= 0 { close(memoryFile) }
        if keyLog >= 0 { close(keyLog) }
        if let store { curlew_tls_store_free(store) }
    }

    /// Attaches the store and the key log to a TLS context. Called for each new connection before its handshake.
    func prepare(_ context: UnsafeMutableRawPointer) {
        if let store { curlew_tls_context_use_store(context, store) }
        if keyLog >= 0 { curlew_tls_context_log_keys(context, keyLog) }
    }

    private static func makeStore(_ source: TrustStrategy.Source) -> UnsafeMutableRawPointer? {
        switch source {
        case .defaultPaths: curlew_tls_store_create(nil, nil)
        case .file(let path): curlew_tls_store_create(path, nil)
        case .directory(let path): curlew_tls_store_create(nil, path)
        case .pem(let data):
            data.withUnsafeBytes { curlew_tls_store_create_from_pem($0.baseAddress, $0.count) }
        }
    }

    private static func failure(_ reason: String, _ code: Int32) -> CurlewError {
        SystemError.shortage(.creation)
            ?? CurlewError(
                .tlsFailed,
                phase: .creation,
                reason: reason,
                native: code == 0 ? nil : SystemError.native(code)
            )
    }
}
