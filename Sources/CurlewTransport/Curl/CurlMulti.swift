internal import CCurl
internal import CurlewCore

/// Watches descriptors for libcurl. Called from libcurl's callbacks, within which libcurl must not be called.
protocol CurlMultiDelegate: AnyObject {
    /// The time of the loop's current turn.
    var now: LoopInstant { get }
    /// Called when the multi handle with the index `multi` waits for the events `wanted` (CURL_POLL_*) of a descriptor,
    /// on behalf of `easy`.
    func watch(_ fd: Int32, for wanted: Int32, multi: Int, easy: UnsafeMutableRawPointer?)
}

/// The indices of an engine's multi handles. Those for exchanges count from 0; there are at most 64
/// (`ConnectionLimits.multis`).
enum MultiIndex {
    static let none = -1
    /// The first of the multi handles to which the origins of retired connections move.
    static let firstSpare = 900
    /// The multi handle of requests that are alone on their connections.
    static let lone = 999
    /// The first of the multi handles of byte connections, which count from here.
    static let firstOfByteConnections = 1000
}

/// A multi handle: a set of transfers that share connections and the caches of DNS and TLS.
///
/// The callbacks only record what libcurl wants, because libcurl must not be called from within them.
final class CurlMulti {
    let handle: UnsafeMutableRawPointer
    let index: Int
    /// The time at which libcurl wants to be called, even without an event.
    var deadline = LoopInstant.never
    /// The number of easy handles in the multi handle.
    private(set) var count = 0
    /// Queues PINGs. It has no URL, so libcurl ends it at once; it stays in the multi handle, whose connections it
    /// reaches.
    private var pinger: CurlEasy?
    // SAFETY: the engine frees its multi handles before their delegate.
    unowned(unsafe) private let delegate: any CurlMultiDelegate

    /// Creates a multi handle. `multiplexes` tells whether requests over HTTP/2 may share a connection at the same
    /// time.
    init?(index: Int, delegate: any CurlMultiDelegate, limits: ConnectionLimits?, multiplexes: Bool = true) {
        guard let handle = curl_multi_init() else { return nil }
        self.handle = handle
        self.index = index
        self.delegate = delegate
        let own = Unmanaged.passUnretained(self).toOpaque()  // SAFETY: deinit frees the handle; then nothing calls
        curlew_multi_set_socket(
            handle,
            { easy, fd, what, data, _ in
                guard let data else { return 0 }
                // SAFETY: data is the CurlMulti, which outlives its handle.
                Unmanaged<CurlMulti>.fromOpaque(data)._withUnsafeGuaranteedRef { multi in
                    multi.delegate.watch(fd, for: what, multi: multi.index, easy: easy)
                }
                return 0
            },
            own
        )
        curlew_multi_set_timer(
            handle,
            { _, milliseconds, data in
                guard let data else { return 0 }
                // SAFETY: as above.
                Unmanaged<CurlMulti>.fromOpaque(data)._withUnsafeGuaranteedRef { multi in
                    multi.setTimer(milliseconds)
                }
                return 0
            },
            own
        )
        curlew_multi_set_long(
            handle, CURLMOPT_PIPELINING, Int(multiplexes ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING))
        guard let limits else { return }
        curlew_multi_set_long(handle, CURLMOPT_MAX_HOST_CONNECTIONS, limits.perHost)
        curlew_multi_set_long(handle, CURLMOPT_MAX_TOTAL_CONNECTIONS, limits.total(of: index))
        curlew_multi_set_long(handle, CURLMOPT_MAXCONNECTS, limits.total(of: index))
    }

    deinit {
        if let pinger { curl_multi_remove_handle(handle, pinger.handle) }
        curl_multi_cleanup(handle)
    }

    func add(_ easy: CurlEasy) -> CURLMcode {
        let code = curl_multi_add_handle(handle, easy.handle)
        if code == CURLM_OK {
            count += 1
            easy.multi = index
        }
        return code
    }

    func remove(_ easy: CurlEasy) {
        curl_multi_remove_handle(handle, easy.handle)
        easy.multi = MultiIndex.none
        count -= 1
    }

    func socketReady(_ fd: Int32, _ events: Int32) {
        var running: Int32 = 0
        curl_multi_socket_action(handle, fd, events, &running)
    }

    /// Queues a PING on each HTTP/2 connection that has got none for half of `milliseconds`. Returns false if libcurl
    /// refuses.
    func queuePings(every milliseconds: UInt64) -> Bool {
        if pinger == nil, let new = CurlEasy() {
            curlew_set_long(new.handle, CURLOPT_NOSIGNAL, 1)
            curlew_set_long(new.handle, CURLOPT_UPKEEP_INTERVAL_MS, Int(clamping: milliseconds / 2))
            if curl_multi_add_handle(handle, new.handle) == CURLM_OK { pinger = new }
        }
        guard let pinger else { return false }
        return curl_easy_upkeep(pinger.handle) == CURLE_OK
    }

    /// Runs every transfer, even those that wait for no event.
    func runAll() {
        var running: Int32 = 0
        curlew_multi_run_all(handle, &running)
    }

    func timerExpired() {
        var running: Int32 = 0
        deadline = .never
        curl_multi_socket_action(handle, -1, 0, &running)
        if deadline == .never { askForTimer() }
    }

    private func setTimer(_ milliseconds: Int) {
        deadline =
            milliseconds < 0 ? .never : delegate.now.advanced(byNanoseconds: UInt64(milliseconds) * 1_000_000)
    }

    /// Asks libcurl for its timer. The time of a turn is older than libcurl's, so a timer may expire in the loop before
    /// it does in libcurl. libcurl 8.10.0 to 8.11.0 then takes the timer for one that still runs and does not report it
    /// again.
    func askForTimer() {
        var milliseconds = -1
        guard curl_multi_timeout(handle, &milliseconds) == CURLM_OK else { return }
        setTimer(milliseconds < 0 ? milliseconds : max(1, milliseconds))
    }
}

/// The limits on the connections of one multi handle, and the number of multi handles.
struct ConnectionLimits: Equatable, Sendable {
    var perHost: Int
    var total: Int
    /// The connections that are left when every multi handle has `total`: each of the first multi handles gets one
    /// more.
    var remainder: Int
    /// The number of multi handles that share the work.
    var multis: Int
    /// Whether the requests of one host are spread over several multi handles.
    var splitsHosts: Bool

    static let connectionsPerMulti = 1000
    /// The most connections to one host in a multi handle. libcurl searches a host's connections linearly, idle ones
    /// included, so each request pays for all of them.
    static let connectionsOfHostPerMulti = 256

    init(maximumPerHost: Int, maximumTotal: Int) {
        let host = min(max(1, maximumPerHost), 1_000_000)
        let all = min(max(1, maximumTotal), 1_000_000)
        let most =
            min(host, all) > Self.connectionsOfHostPerMulti ? Self.connectionsOfHostPerMulti : Self.connectionsPerMulti
        multis = min(64, (all + most - 1) / most)
        total = max(1, all / multis)
        remainder = all % multis
        let reachable = min(host, all)
        splitsHosts = reachable > total
        perHost = splitsHosts ? max(1, (reachable + multis - 1) / multis) : host
    }

    /// The most connections to one host, in all multi handles that share its requests.
    var host: Int { splitsHosts ? perHost * multis : share(of: 0) }

    func total(of index: Int) -> Int { total + (index < remainder ? 1 : 0) }

    /// The number of transfers of one host that a multi handle runs before the next one is used. A transfer above it
    /// would find no connection, and libcurl would try it again in vain at the end of every other transfer.
    func share(of index: Int) -> Int { min(perHost, total(of: index)) }
}
