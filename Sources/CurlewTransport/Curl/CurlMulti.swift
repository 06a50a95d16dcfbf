internal import CCurl
internal import CurlewCore

/// Notes what libcurl waits for. Nothing of libcurl may be called from within it.
protocol SocketWishes: AnyObject {
    /// Time of the loop's present turn.
    var now: LoopInstant { get }
    /// libcurl wants `what` (CURL_POLL_*) of a descriptor.
    func socketWish(_ fd: Int32, _ what: Int32, _ multi: Int, of easy: UnsafeMutableRawPointer?)
}

/// One multi handle: a set of transfers that share connections, DNS and TLS caches.
///
/// Its callbacks only note what libcurl wants; nothing of libcurl is called from within them.
final class CurlMulti {
    let handle: UnsafeMutableRawPointer
    let index: Int
    /// When libcurl wants to be called without an event.
    var deadline = LoopInstant.never
    /// Handles added and not removed.
    private(set) var count = 0
    // SAFETY: the engine frees its multi handles before what notes their wishes.
    unowned(unsafe) private let wishes: any SocketWishes

    /// `multiplexes`: requests over HTTP/2 may share a connection at the same time.
    init?(index: Int, wishes: any SocketWishes, limits: ConnectionLimits?, multiplexes: Bool = true) {
        guard let handle = curl_multi_init() else { return nil }
        self.handle = handle
        self.index = index
        self.wishes = wishes
        let own = Unmanaged.passUnretained(self).toOpaque()  // SAFETY: freed in deinit, after which nothing calls
        curlew_multi_set_socket(
            handle,
            { easy, fd, what, data, _ in
                guard let data else { return 0 }
                // SAFETY: data is the multi, which outlives its handle.
                Unmanaged<CurlMulti>.fromOpaque(data)._withUnsafeGuaranteedRef { multi in
                    multi.wishes.socketWish(fd, what, multi.index, of: easy)
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

    deinit { curl_multi_cleanup(handle) }

    func add(_ easy: CurlEasy) -> CURLMcode {
        easy.goes(to: index)
        let code = curl_multi_add_handle(handle, easy.handle)
        if code == CURLM_OK {
            count += 1
            easy.multi = index
        }
        return code
    }

    func remove(_ easy: CurlEasy) {
        curl_multi_remove_handle(handle, easy.handle)
        easy.multi = -1
        count -= 1
    }

    func socketReady(_ fd: Int32, _ events: Int32) {
        var running: Int32 = 0
        curl_multi_socket_action(handle, fd, events, &running)
    }

    /// Runs every transfer: for those that wait for no event.
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
            milliseconds < 0 ? .never : wishes.now.advanced(byNanoseconds: UInt64(milliseconds) * 1_000_000)
    }

    /// The turn's time is older than libcurl's, so a timer may expire here before it does there. libcurl 8.10.0 to 8.11.0
    /// takes it for one that still runs and tells nothing more of it.
    func askForTimer() {
        var milliseconds = -1
        guard curl_multi_timeout(handle, &milliseconds) == CURLM_OK else { return }
        setTimer(milliseconds < 0 ? milliseconds : max(1, milliseconds))
    }
}

/// How many connections one multi handle may have.
struct ConnectionLimits: Equatable, Sendable {
    var perHost: Int
    var total: Int
    /// What is left when every multi handle has `total`: one more for each of the first.
    var remainder: Int
    /// How many multi handles share the work.
    var multis: Int
    /// Whether a host's requests go to more than one of them.
    var splitsHosts: Bool

    static let connectionsPerMulti = 1000
    /// libcurl looks for a connection to a host by walking along all that there are, idle or not: where one host may have
    /// more than this in one multi handle, every request pays for them.
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

    func total(of index: Int) -> Int { total + (index < remainder ? 1 : 0) }

    /// How many transfers of one host may be in a multi handle before the next one gets its share. One too many
    /// would find no connection, and be tried again in vain at the end of every other transfer.
    func share(of index: Int) -> Int { min(perHost, total(of: index)) }
}
