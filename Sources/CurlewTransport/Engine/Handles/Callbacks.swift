internal import CCurl
internal import CurlewCore
internal import Glibc

/// The callbacks of easy handles; `CurlMulti` sets those for sockets and for the timer. Each finds its transfer and
/// delegates to it. None ends the transfer: `EngineTurns.endTurn` collects those with which libcurl is done.
///
/// None calls libcurl back, except to read information (`curl_easy_getinfo`), to set the trace, CURLOPT_CONNECT_ONLY
/// and CURLOPT_FORBID_REUSE, and to list trailers (`curl_slist_append`). All run in the loop's turns, within
/// `curl_multi_*` or `curl_easy_pause`.
enum Callbacks {
    /// Calls `body` with the transfer that runs on the handle and with its engine's transfers; returns `otherwise` if
    /// none runs.
    private static func withTransfer<R>(
        _ data: UnsafeMutableRawPointer?, or otherwise: R, _ body: (ActiveTransfer, Transfers) -> R
    ) -> R {
        guard let data else { return otherwise }
        // SAFETY: the data is the TransferHandle, which frees the libcurl handle that calls back.
        return Unmanaged<TransferHandle>.fromOpaque(data)._withUnsafeGuaranteedRef { easy in
            guard let transfer = easy.transfer else { return otherwise }
            return body(transfer, easy.transfers)
        }
    }

    /// Calls `body` with the engine's handshakes.
    private static func withHandshakes(_ data: UnsafeMutableRawPointer?, _ body: (Handshakes) -> Void) {
        guard let data else { return }
        // SAFETY: the data is the Handshakes, which outlives every connection of its engine.
        Unmanaged<Handshakes>.fromOpaque(data)._withUnsafeGuaranteedRef(body)
    }

    /// libcurl passes one line per call, with one exception: it keeps a head that it reads while the transfer is
    /// paused, and after the pause passes all lines but the first in one piece.
    private static let header: curl_write_callback = { bytes, size, count, data in
        let chunk = UnsafeRawBufferPointer(start: bytes, count: size * count)
        guard let data else { return 0 }
        // SAFETY: as in `withTransfer`: the data is the TransferHandle.
        return Unmanaged<TransferHandle>.fromOpaque(data)._withUnsafeGuaranteedRef { easy in
            guard var start = chunk.baseAddress else { return 0 }
            let end = start + chunk.count
            while start < end {
                let next = memchr(start, 0x0A, end - start).map { UnsafeRawPointer($0) + 1 } ?? end
                guard receive(line: UnsafeRawBufferPointer(start: start, count: next - start), easy) else {
                    return 0
                }
                start = next
            }
            return chunk.count
        }
    }

    private static func receive(line: UnsafeRawBufferPointer, _ easy: TransferHandle) -> Bool {
        if easy.transfers.settings.quirks.keepsFreedField { easy.lookAhead(behind: line) }
        let comparison = easy.lastHead.compare(line)
        if comparison == .equalSoFar { return true }
        guard let transfer = easy.transfer else { return false }
        return switch comparison {
        case .equalAtStart, .equalSoFar: transfer.receivedRepeatedStatusLine(of: easy)
        case .equal: transfer.receivedRepeatedHead(of: easy, easy.transfers)
        case .different: transfer.received(line: line, easy, easy.transfers)
        }
    }

    private static let body: curl_write_callback = { bytes, size, count, data in
        let chunk = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return withTransfer(data, or: 0) { transfer, transfers in
            switch transfer.received(body: chunk, transfers) {
            case .taken: chunk.count
            case .paused: Int(CURL_WRITEFUNC_PAUSE)
            case .refused: 0
            }
        }
    }

    private static let read: curl_read_callback = { bytes, size, count, data in
        let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
        return withTransfer(data, or: Int(CURL_READFUNC_ABORT)) { transfer, transfers in
            switch transfer.fill(buffer, transfers) {
            case .bytes(let count): return count
            case .end:
                transfer.easy?.bodyEnded()
                return 0
            case .pending: return Int(CURL_READFUNC_PAUSE)
            case .failed: return Int(CURL_READFUNC_ABORT)
            }
        }
    }

    private static let trailers: curl_trailer_callback = { list, data in
        withTransfer(data, or: CURL_TRAILERFUNC_ABORT) { transfer, _ in
            guard let list, let lines = transfer.trailerLines() else { return CURL_TRAILERFUNC_ABORT }
            for line in lines {
                guard let longer = curl_slist_append(list.pointee, line) else { return CURL_TRAILERFUNC_ABORT }
                list.pointee = longer
            }
            // libcurl frees the list.
            return CURL_TRAILERFUNC_OK
        }
    }

    private static let seek: curl_seek_callback = { data, offset, origin in
        withTransfer(data, or: CURL_SEEKFUNC_FAIL) { transfer, _ in
            guard origin == SEEK_SET, let upload = transfer.sending.upload else { return CURL_SEEKFUNC_FAIL }
            return upload.seek(to: Int64(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
        }
    }

    private static let prerequest: curlew_prereq_callback = {
        data, peer, local, peerPort, localPort in
        let connection = ConnectionName(
            local: .init(address: local, port: localPort), peer: .init(address: peer, port: peerPort))
        return withTransfer(data, or: CURL_PREREQFUNC_ABORT) { transfer, transfers in
            transfer.authorizeSend(transfers, over: connection) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
    }

    private static let resolverStart: curlew_resolver_start_callback = { _, _, data in
        withTransfer(data, or: 0) { transfer, transfers in
            transfer.resolverStarts(transfers)
            guard let question = transfer.plan.question else { return 0 }
            return transfer.checkLookUp(question, transfers.settings) ? 0 : 1
        }
    }

    private static let openSocket: curl_opensocket_callback = { data, _, address in
        guard let address else { return CURL_SOCKET_BAD }
        return withTransfer(data, or: CURL_SOCKET_BAD) { transfer, transfers in
            transfer.connectionStarted(transfers)
            // `resolverStarts` may have muted it.
            transfer.easy?.muteTrace(false)
            return transfers.sockets.open(for: transfer, address)
        }
    }

    // Also called without a transfer, when libcurl closes a cached connection.
    private static let closeSocket: curl_closesocket_callback = { data, fd in
        guard let data else { return close(fd) }
        // SAFETY: the data is the Sockets, which the engine frees after every libcurl handle.
        return Unmanaged<Sockets>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.close(fd) }
    }

    // Called only while the handle's trace is on. libcurl's internal handles for names over HTTPS may inherit it, so
    // the handle is compared.
    private static let trace: curl_debug_callback = { handle, kind, bytes, count, data in
        guard let bytes, count > 0 else { return 0 }
        withTransfer(data, or: ()) { transfer, transfers in
            guard let easy = transfer.easy, easy.handle == handle else { return }
            let text = UnsafeMutableRawBufferPointer(start: bytes, count: count)
            switch kind {
            case CURLINFO_TEXT where text.starts(with: tunnel): transfer.countTunnelRequest()
            case CURLINFO_TEXT:
                if let goAway = transfer.sending.evidence.record(UnsafeRawBufferPointer(text)) {
                    transfers.connectionGoesAway(of: transfer, goAway)
                }
            case CURLINFO_HEADER_OUT where !transfers.settings.quirks.asksBeforeSending:
                if !text.starts(with: connect) { transfer.wasSent(transfers) }
            case CURLINFO_HEADER_IN where easy.trace.contains(.nextLine) && HeadCollector.isFolded(text[0]):
                transfer.refuseLeadingFold()
                // libcurl does not store a line that begins with a carriage return. It passes the line on, and the
                // header callback ends the transfer.
                text[0] = UInt8(ascii: "\r")
            default: break
            }
        }
        return 0
    }

    /// The beginning of the trace line for a tunnel request: "Establish HTTP proxy tunnel to ...".
    private static let tunnel = Array("Establish HTTP".utf8)
    /// The beginning of a head that asks a proxy for a tunnel, as opposed to the request's head.
    private static let connect = Array("CONNECT ".utf8)

    private static let context: curl_ssl_ctx_callback = { handle, context, data in
        guard let context else { return CURLE_ABORTED_BY_CALLBACK }
        return withTransfer(data, or: CURLE_ABORTED_BY_CALLBACK) { transfer, transfers in
            // libcurl resolves names over HTTPS with an internal handle, which inherits this callback and its data from
            // the transfer's handle. That server's certificates are not the transfer's: libcurl alone verifies them,
            // with the same roots.
            guard transfer.easy?.handle == handle || !transfers.settings.resolvesOverHTTPS else {
                transfers.settings.material.prepare(context)
                return CURLE_OK
            }
            return secure(context, transfer, transfers)
        }
    }

    private static func secure(
        _ context: UnsafeMutableRawPointer, _ transfer: ActiveTransfer, _ transfers: Transfers
    ) -> CURLcode {
        transfers.settings.material.prepare(context)
        let number = transfers.handshakes.began(for: transfer)
        curlew_tls_context_watch(
            context,
            Unmanaged.passUnretained(transfers.handshakes).toOpaque(),  // SAFETY: outlives every connection.
            number,
            curlew_tls_callbacks(
                asked: transfers.settings.hasClientIdentity ? nil : certificateAsked,
                shown: chainShown,
                evaluate: transfers.handshakes.mayEvaluateWithinHandshake(context, transfer) ? evaluateChain : nil,
                alerted: alertReceived,
                evaluates_untrusted: transfers.settings.evaluatorDecidesAlone ? 1 : 0
            )
        )
        return CURLE_OK
    }

    private static let evaluateChain:
        @convention(c) (UnsafeMutableRawPointer?, UInt64, UnsafeRawPointer?, Int) -> Int32 =
            { data, number, chain, result in
                guard let data else { return 0 }
                // SAFETY: as in `withHandshakes`: the data is the Handshakes.
                return Unmanaged<Handshakes>.fromOpaque(data)._withUnsafeGuaranteedRef {
                    $0.evaluateWithinHandshake(chain, of: number, verifyResult: result) ? 1 : 0
                }
            }

    private static let certificateAsked: @convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void = {
        data, number in
        withHandshakes(data) { $0.transfer(number)?.connection.wasAskedForCertificate = true }
    }

    private static let alertReceived: @convention(c) (UnsafeMutableRawPointer?, UInt64, Int32) -> Void = {
        data, number, alert in
        withHandshakes(data) { $0.transfer(number)?.connection.tlsAlert = alert }
    }

    private static let chainShown:
        @convention(c) (
            UnsafeMutableRawPointer?, UInt64, UnsafeMutableRawPointer?, UnsafePointer<CChar>?, Int
        ) -> Void = { data, number, chain, name, result in
            guard let chain else { return }
            let shown = ShownChain(chain, host: name.map { String(cString: $0) }, verifyResult: result)
            withHandshakes(data) { $0.transfer(number)?.connection.shownChain = shown }
        }

    /// Sets every callback on a handle that is new or was reset.
    static func install(
        on handle: UnsafeMutableRawPointer, easy: UnsafeMutableRawPointer, sockets: UnsafeMutableRawPointer,
        _ settings: EngineSettings
    ) {
        curlew_set_write(handle, CURLOPT_HEADERFUNCTION, header)
        curlew_set_pointer(handle, CURLOPT_HEADERDATA, easy)
        curlew_set_write(handle, CURLOPT_WRITEFUNCTION, body)
        curlew_set_pointer(handle, CURLOPT_WRITEDATA, easy)
        curlew_set_read(handle, read)
        curlew_set_pointer(handle, CURLOPT_READDATA, easy)
        curlew_set_seek(handle, seek)
        curlew_set_pointer(handle, CURLOPT_SEEKDATA, easy)
        if settings.quirks.asksBeforeSending {
            curlew_set_prereq(handle, prerequest)
            curlew_set_pointer(handle, .prereqData, easy)
        }
        curlew_set_resolver_start(handle, resolverStart)
        curlew_set_pointer(handle, CURLOPT_RESOLVER_START_DATA, easy)
        curlew_set_opensocket(handle, openSocket)
        curlew_set_pointer(handle, CURLOPT_OPENSOCKETDATA, easy)
        curlew_set_closesocket(handle, closeSocket)
        curlew_set_pointer(handle, CURLOPT_CLOSESOCKETDATA, sockets)
        curlew_set_debug(handle, trace)
        curlew_set_pointer(handle, CURLOPT_DEBUGDATA, easy)
        // Other TLS libraries than OpenSSL pass a different object.
        if settings.usesOpenSSL {
            curlew_set_ssl_ctx(handle, context)
            curlew_set_pointer(handle, CURLOPT_SSL_CTX_DATA, easy)
        }
    }

    /// Sets the callback for trailers, for a request that has some.
    static func installTrailers(on handle: UnsafeMutableRawPointer, easy: UnsafeMutableRawPointer) {
        curlew_set_trailers(handle, trailers)
        curlew_set_pointer(handle, CURLOPT_TRAILERDATA, easy)
    }
}
