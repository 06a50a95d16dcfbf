internal import CCurl
internal import CurlewCore
internal import Foundation

// Turns the end of a transfer into a CurlewError. Curlew's own knowledge takes precedence over libcurl's result.
extension ActiveTransfer {
    func makeError(_ code: CurlewError.Code, _ reason: String, phase: CurlewError.Phase? = nil) -> CurlewError {
        completed(CurlewError(code, phase: phase ?? self.phase, reason: reason))
    }

    /// Adds the details that every error of this transfer has.
    func completed(_ error: CurlewError) -> CurlewError {
        var error = error
        if error.url == nil { error.url = request.url }
        if error.code == .connectTimedOut, error.phase == .tls {
            error.suggestion = "Check that the server speaks TLS on this port, or wait longer."
        }
        error.attempt = request.attempt
        if error.responseCode == nil { error.responseCode = response.head?.status }
        if !error.isSafeToRetry { error.isSafeToRetry = isSafeToRetry(error) }
        return error
    }

    private func isSafeToRetry(_ error: CurlewError) -> Bool {
        switch error.code {
        case .cancelled, .sessionClosed, .limitExceeded, .unsupported, .invalidHeader, .invalidURL, .invalidBody,
            .bodyUnavailable, .fileUnreadable, .`internal`:
            false
        default:
            !sending.hasBegun || request.isRepeatable || isUnprocessed
        }
    }

    /// The phase that the transfer has reached.
    var phase: CurlewError.Phase {
        switch clocks.stretch {
        case .queue: return .queue
        case .send: return .send
        case .firstByte: return .waiting
        case .receive: return .receive
        case .connect:
            if case .resolving = stage { return .resolve }
            guard let handle = easy?.handle else { return .connect }
            if connection.isSecuring { return .tls }
            if curlew_get_offset(handle, CURLINFO_CONNECT_TIME_T) > 0 {
                return plan.isTLS && !isProxied ? .tls : .proxy
            }
            return curlew_get_offset(handle, CURLINFO_NAMELOOKUP_TIME_T) > 0 ? .connect : .resolve
        }
    }

    /// The error for a server that has asked for fewer requests and not processed this one. libcurl would report a
    /// framing error.
    var refusedForNow: CurlewError {
        makeError(.receiveFailed, "the server asks for fewer requests (ENHANCE_YOUR_CALM)")
    }

    /// Whether the connection ended in the middle of the response although libcurl reports success.
    ///
    /// Without a length only the end of the stream shows that the body is complete. libcurl before 8.1 does not check
    /// for that end if the HTTP/2 session has nothing left to do. It keeps a connection whose streams ended properly,
    /// so a connection that it closed is suspicious.
    ///
    /// Not detected: a server that announces the connection's end before it breaks a rule, connections that are used
    /// once, and all but the last of several responses on the connection.
    var isCutByConnection: Bool {
        guard sending.evidence.connectionBroke, easy?.transfers.settings.quirks.hidesBrokenConnections == true,
            let head = response.head, head.version == .http2, head.headers["Content-Length"] == nil
        else { return false }
        return request.method != .head && !HTTPStatus(head.status).hasNoBody && !plan.closesConnection
            && easy?.closesConnection != true
    }

    func timeout(_ timeout: TransferClocks.Timeout) -> CurlewError {
        makeError(timeout.code, CurlewError.timeoutReason(timeout.code, after: clocks.limit(timeout)))
    }

    func cancellation(_ error: CurlewError) -> CurlewError {
        var error = error
        if error.isCancellation, error.phase == .lifecycle { error.phase = phase }
        return error
    }

    /// Whether the response was complete before the failure: only the rest of a refused body could not be sent, or a
    /// repetition was stopped.
    func hasWholeResponse(despite result: CURLcode) -> Bool {
        guard result != CURLE_OK else { return false }
        // The request cannot be sent again, so the response that asked for it is the result.
        if response.deferredHead != nil,
            result == CURLE_SEND_FAIL_REWIND || hasAnsweredEnough || isAboutToAuthenticateConnection
                || cannotRepeatTrailers
        {
            return true
        }
        guard response.hasHead else { return false }
        if response.isKept { return true }
        // libcurl before 8.1 continues to send after the response has ended, and then fails.
        if result == CURLE_HTTP2_STREAM, sending.evidence.responseEnded {
            return response.expectedBody == nil || response.isComplete
        }
        guard sending.isMoot, result == CURLE_SEND_ERROR else { return false }
        return response.isComplete
    }

    /// The error for an option that libcurl has refused.
    func rejected(_ result: CURLcode) -> CurlewError {
        let row = CurlCode.row(Int(result.rawValue))
        let code: CurlewError.Code =
            switch row.number {
            case CurlCode.notBuiltIn, CurlCode.unknownOption: .unsupported
            // The refused value is part of the configuration.
            case CurlCode.badFunctionArgument: .requestCreationFailed
            default: row.code
            }
        var error = CurlewError(
            code,
            phase: .creation,
            reason: "libcurl refused an option: \(String(cString: curl_easy_strerror(result)))",
            native: CurlCode.native(row.number)
        )
        if code == .unsupported { error.suggestion = CurlewError.lacksFeature }
        return completed(error)
    }

    /// libcurl's codes for a file of keys, certificates or revocation lists that could not be opened, for whatever
    /// reason.
    private static let fileFailures = [
        CurlCode.sslCertificateProblem, CurlCode.sslCACertificateBadFile, CurlCode.sslCRLBadFile,
    ]

    /// libcurl's codes for a broken connection.
    private static let brokenConnection = [CurlCode.gotNothing, CurlCode.sendError, CurlCode.receiveError]

    /// libcurl's text for a trailer field of a chunked body that exceeds its limit.
    private static let overlongTrailer = "Out of memory in chunked-encoding"

    /// The error for a result of libcurl, given by its number, in the light of the transfer's state.
    func failure(for number: Int, _ easy: TransferHandle) -> CurlewError {
        if var failure = failure ?? (sending.evidence.asksForCalm && isUnprocessed ? refusedForNow : nil) {
            if failure.native == nil, failure.code != .cancelled { failure.native = CurlCode.native(number) }
            return completed(failure)
        }
        // libcurl before 8.8 keeps the errno of a handle's earlier transfer, and so takes an address that got no socket
        // for one that did not respond.
        let number =
            number == CurlCode.operationTimedOut && connection.lacksEverySocket ? CurlCode.couldNotConnect : number
        var text = easy.errorMessage
        // The text contains the proxy's URL with its password.
        if text.hasPrefix("Unsupported proxy") { text = "the proxy's URL cannot be used" }
        var meaning = number
        if easy.transfers.settings.usesGnuTLS {
            let bits = curlew_get_long(easy.handle, CURLINFO_SSL_VERIFYRESULT)
            // Over QUIC the address tried last determines the number, even if a certificate chain was refused.
            if number == CurlCode.couldNotConnect, GnuTLSFailure.isRefused(bits),
                easy.transfers.settings.verifiesTLSProxies
            {
                meaning = CurlCode.peerFailedVerification
                text = "server verification failed: \(GnuTLSFailure.verdict(bits)?.words ?? "certificate not trusted")"
            }
            if number == CurlCode.peerFailedVerification { text = GnuTLSFailure.text(text, bits) }
        }
        var (code, phase) = classify(meaning, text, easy)
        if code != .clientCertificateRequired, Self.brokenConnection.contains(number), let alert = connection.tlsAlert,
            TLSFailure.isAboutCertificate(alert: alert)
        {
            (code, phase) = (.clientCertificateRequired, .tls)
            text = "the server closed the connection: " + String(cString: curlew_tls_alert_text(alert))
        }
        if text.hasPrefix(Self.overlongTrailer) {
            text = "a trailer field of the response is longer than 4 KB"
        } else if number == CurlCode.outOfMemory, code == .limitExceeded {
            text = "a line of the response's head is longer than 100 KB"
        }
        var error = CurlewError(
            code,
            phase: phase,
            reason: text.isEmpty
                ? String(cString: curl_easy_strerror(CURLcode(UInt32(number)))) : Redaction.text(text),
            native: CurlCode.native(number)
        )
        let lacksFile = Self.fileFailures.contains(number)
        if connection.socketError == 0, code == .resolveFailed || lacksFile {
            // If a file could not be opened, the failed connection has released its descriptor by now: probe for one
            // more.
            connection.socketError = SystemError.descriptorShortage(of: lacksFile ? 2 : 1)
        }
        let lacksSocket = SystemError.isShortage(connection.socketError) && number == CurlCode.couldNotConnect
        if connection.socketError != 0, code == .connectFailed || code == .resolveFailed || lacksFile || lacksSocket {
            if lacksSocket { error.phase = .connect }
            if code != .resolveFailed { error.code = .connectFailed }
            error.native = SystemError.native(connection.socketError)
            error.reason = "no socket: \(SystemError.text(connection.socketError))"
        } else if code == .connectFailed, connection.hasOpenedSocket || number != CurlCode.couldNotConnect {
            let system = Int32(truncatingIfNeeded: curlew_get_long(easy.handle, CURLINFO_OS_ERRNO))
            if system != 0 { error.underlying = POSIXErrorCode(rawValue: system).map { POSIXError($0) } }
            // libcurl names the host and port of the URL, to which no connection was attempted.
            if let path = easy.transfers.settings.unixSocketPath {
                error.reason = "cannot connect to the Unix socket \(path)"
                if system != 0 { error.reason += ": " + SystemError.text(system) }
                error.suggestion = "Check the path of the socket, and that a server listens there."
            }
        }
        // A handshake with a proxy fails with the same text; then it is unknown which peer does not speak TLS.
        if error.code == .tlsFailed, TLSFailure.isOfPlainPeer(text), !(isProxied && mayMeetTLSProxy) {
            error.reason = "the server's response to the TLS handshake is not TLS (\(error.reason))"
            error.suggestion =
                "The server does not speak TLS on this port: use its TLS port, "
                + "or begin the URL with http:// if the request may go unencrypted."
        }
        // A TLS server responds to a plain request with a TLS record, or closes the connection. libcurl does not say
        // which.
        if !plan.isTLS, sending.hasBegun, response.head == nil,
            number == CurlCode.unsupportedProtocol || Self.brokenConnection.contains(number),
            let usual = error.recoverySuggestion
        {
            error.suggestion = usual + " If the server speaks TLS on this port, begin the URL with https://."
        }
        if number == CurlCode.sslCipher {
            error.suggestion = "Correct the list of ciphers: 'openssl ciphers -v LIST' shows what it means."
        }
        if error.isOfUnpinnedKey { error.suggestion = CurlewError.pinSuggestion }
        if error.isTLS, error.code != .clientCertificateRequired, let chain = connection.shownChain {
            error.underlying = UntrustedServer(trust: chain.trust(host: plan.host))
        }
        if let refused = connection.refusedAddress, code == .connectFailed {
            error.code = .addressRefused
            error.reason = "\(refused) is not a public address"
        }
        if error.code == .proxyFailed, let status = proxyStatus(easy) { error.responseCode = status }
        return completed(error)
    }

    /// The status of the proxy's response to CONNECT; `nil` if there was none.
    private func proxyStatus(_ easy: TransferHandle) -> Int? {
        let status = curlew_get_long(easy.handle, CURLINFO_HTTP_CONNECTCODE)
        return status > 0 ? status : nil
    }

    private func classify(_ number: Int, _ text: String, _ easy: TransferHandle) -> (
        CurlewError.Code, CurlewError.Phase
    ) {
        let row = CurlCode.row(number)
        // libcurl's limit for all heads of an exchange appears as a failure to receive.
        if text.hasPrefix("Too large response headers") { return (.limitExceeded, phase) }
        // libcurl's limit for one trailer field appears as a lack of memory, under a number of each version's own.
        if text.hasPrefix(Self.overlongTrailer) { return (.limitExceeded, phase) }
        // The proxy is one of the environment, which libcurl reads itself.
        if text.hasPrefix("HTTP/3 is not supported") { return (.unsupported, .creation) }
        switch number {
        case CurlCode.peerFailedVerification, CurlCode.oldPeerFailedVerification:
            return (TLSFailure.code(of: easy.handle, text, isGnuTLS: easy.transfers.settings.usesGnuTLS), .tls)
        case CurlCode.sendError, CurlCode.receiveError, CurlCode.sslConnectError, CurlCode.sslEngineNotFound,
            CurlCode.sslEngineSetFailed, CurlCode.sslCertificateProblem, CurlCode.useSSLFailed,
            CurlCode.sslEngineInitFailed, CurlCode.sslCACertificateBadFile, CurlCode.sslShutdownFailed,
            CurlCode.sslCRLBadFile, CurlCode.sslIssuerError, CurlCode.sslPinnedKeyNotMatched,
            CurlCode.sslInvalidCertificateStatus, CurlCode.sslClientCertificate:
            if let code = TLSFailure.alert(text) {
                // TLS 1.2 has no specific alert for a certificate that was not presented.
                return (
                    code == .tlsFailed && connection.wasAskedForCertificate ? .clientCertificateRequired : code, .tls
                )
            }
            if row.code == .tlsFailed || row.code == .certificateUntrusted || row.code == .certificateRevoked {
                return (row.code, .tls)
            }
            if let status = proxyStatus(easy), status >= 300 { return (.proxyFailed, .proxy) }
            // Connected to the proxy, and the tunnel is not yet open.
            if isProxied, number == CurlCode.sendError || number == CurlCode.receiveError,
                case .connect = clocks.stretch
            {
                return (.proxyFailed, .proxy)
            }
            return (row.code, phase)
        case CurlCode.unsupportedProtocol:
            // After the request was sent, the response is not HTTP.
            return sending.hasBegun ? (.protocolViolation, phase) : (.invalidURL, .creation)
        case CurlCode.outOfMemory:
            // libcurl's limit for one header line appears as a lack of memory.
            return sending.hasBegun && response.head == nil ? (.limitExceeded, phase) : (row.code, phase)
        case CurlCode.badFunctionArgument:
            // The response has a field that libcurl cannot store, such as a trailer without a colon.
            return (sending.hasBegun ? .protocolViolation : row.code, phase)
        case CurlCode.couldNotResolveProxy, CurlCode.proxy: return (row.code, .proxy)
        case CurlCode.couldNotResolveHost: return (row.code, .resolve)
        case CurlCode.couldNotConnect:
            // If there is a proxy, the failed connection is the one to the proxy.
            return isProxied ? (.proxyFailed, .proxy) : (row.code, .connect)
        case CurlCode.partialFile: return (.truncated, .receive)
        // A cipher list that cannot be used is the configuration's fault, whatever the server speaks.
        case CurlCode.sslCipher: return (row.code, .creation)
        case CurlCode.operationTimedOut:
            // If the request was sent already, libcurl was silently making another connection for it.
            if case .connect = clocks.stretch { return (row.code, phase) }
            return (row.code, .connect)
        default: return (row.code, phase)
        }
    }
}
