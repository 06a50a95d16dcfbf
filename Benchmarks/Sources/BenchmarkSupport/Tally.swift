internal import Glibc

/// Counts what the workers did. One short lock per request; bytes of a body are added as they come.
public final class Tally: @unchecked Sendable {  // SAFETY: everything stored is touched only under `lock`.
    struct Values {
        var started = 0
        var succeeded = 0
        var failed = 0
        var bytes = 0
        var latency = 0.0
        var firstError: String?
        var isCounting = false
        var isOver = false
    }

    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private var values = Values()
    private let count: Int?

    init(count: Int?) {
        self.count = count
        lock = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
    }

    deinit {
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    public func add(bytes: Int) { withValues { $0.bytes += bytes } }

    /// The number of the next request, or nil when enough have been started.
    func next() -> Int? {
        withValues { values in
            if values.isOver { return nil }
            if let count, values.started >= count { return nil }
            values.started += 1
            return values.started
        }
    }

    func succeeded(after seconds: Double) {
        withValues { values in
            guard values.isCounting, !values.isOver else { return }
            values.succeeded += 1
            values.latency += seconds
        }
    }

    func failed(_ error: any Error) {
        withValues { values in
            guard !values.isOver else { return }
            values.failed += 1
            if values.firstError == nil { values.firstError = "\(error)" }
        }
    }

    /// The warm-up is over: what counts begins.
    func begin() {
        withValues { values in
            values.isCounting = true
            values.succeeded = 0
            values.bytes = 0
            values.latency = 0
        }
    }

    func end() -> Values {
        withValues { values in
            values.isOver = true
            return values
        }
    }

    private func withValues<R>(_ body: (inout Values) -> R) -> R {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return body(&values)
    }
}
