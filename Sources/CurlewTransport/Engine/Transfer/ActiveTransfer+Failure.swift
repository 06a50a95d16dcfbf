internal import CCurl
internal import CurlewCore
internal import Foundation

// Turns the end of a transfer into a CurlewError. Curlew's own knowledge takes precedence over libcurl's result.
extension ActiveTransfer {
    func makeError(_ code: CurlewError.Code, _ reason: String, phase: CurlewError.Phase? = nil) -> CurlewError {
        withDetails(CurlewError(code, phase: phase ?? self.phase, reason: reason))
    }

    /// Adds the details that every error of this transfer has.
    func withDetails(_ error: CurlewError) -> CurlewError {
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
            guard let easy else { return .connect }
            if connection.isSecuring { return .tls }
            if curlew_get_offset(easy.handle, CURLINFO_CONNECT_TIME_T) > 0 {
                return plan.isTLS && !usesProxy(easy.transfers.settings) ? .tls : .proxy
            }
            return curlew_get_offset(easy.handle, CURLINFO_NAMELOOKUP_TIME_T) > 0 ? .connect : .resolve
        }
    }

    /// The error for a server that has asked for fewer requests and not processed this one. libcurl would report a
    /// framing error.
    var refusedForNow: CurlewError {
        makeError(.receiveFailed, "the server asks for fewer requests (ENHANCE_YOUR_CALM)")
    }

    func timeout(_ timeout: TransferClocks.Timeout) -> CurlewError {
        makeError(timeout.code, CurlewError.timeoutReason(timeout.code, after: clocks.limit(timeout)))
    }

    func cancellation(_ error: CurlewError) -> CurlewError {
        var error = error
        if error.isCancellation, error.phase == .lifecycle { error.phase = phase }
        return error
    }

    /// The error for an option that libcurl has refused.
    func error(forRefusedOption result: CURLcode) -> CurlewError {
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
        return withDetails(error)
    }
}

/// libcurl's report of a transfer's end: its number and its text.
private struct CurlReport {
    /// The number of libcurl's result.
    let number: Int
    /// The number that determines the error's code and phase. It differs from `number` if TLS says more.
    var meaning: Int
    var text: String

    /// Whether a file of keys, certificates or revocation lists could not be opened, for whatever reason.
    var isOfUnreadableFile: Bool {
        switch number {
        case CurlCode.sslCertificateProblem, CurlCode.sslCACertificateBadFile, CurlCode.sslCRLBadFile: true
        default: false
        }
    }

    var isOfBrokenConnection: Bool {
        switch number {
        case CurlCode.gotNothing, CurlCode.sendError, CurlCode.receiveError: true
        default: false
        }
    }

    /// Whether a trailer field of a chunked body exceeds libcurl's limit. libcurl reports it as a lack of memory, with
    /// a number that depends on the version.
    var isOfLongTrailer: Bool { text.hasPrefix("Out of memory in chunked-encoding") }
}

// Turns libcurl's result into a `CurlewError`, step by step. Each step may rely on those before it.
extension ActiveTransfer {
    /// The error for a result of libcurl, given by its number, in the light of the transfer's state.
    func error(forCurlResult number: Int, _ easy: TransferHandle) -> CurlewError {
        if let own = ownFailure(endedBy: number) { return withDetails(own) }
        let report = report(of: number, easy)
        var error = classified(report, easy)
        explainConnection(&error, report, easy)
        suggestScheme(&error, report, easy.transfers.settings)
        if number == CurlCode.sslCipher {
            error.suggestion = "Correct the list of ciphers: 'openssl ciphers -v LIST' shows what it means."
        }
        if error.isOfUnpinnedKey { error.suggestion = CurlewError.pinSuggestion }
        if error.isTLS, error.code != .clientCertificateRequired, let chain = connection.shownChain {
            error.underlying = UntrustedServer(trust: chain.trust(host: plan.host))
        }
        if error.code == .tlsFailed, TLSFailure.isOfProtocol(report.text) { error.detail = .noSharedProtocol }
        if error.code == .proxyFailed, let status = proxyStatus(easy) { error.responseCode = status }
        return withDetails(error)
    }

    /// The reason for which Curlew itself ended the transfer: libcurl's result is only its consequence. `nil` if it did
    /// not.
    private func ownFailure(endedBy number: Int) -> CurlewError? {
        guard var own = failure ?? (sending.evidence.asksForCalm && isUnprocessed ? refusedForNow : nil) else {
            return nil
        }
        if own.native == nil, own.code != .cancelled { own.native = CurlCode.native(number) }
        return own
    }

    /// Reads libcurl's text, and corrects a number or a text that is known to mislead.
    private func report(of number: Int, _ easy: TransferHandle) -> CurlReport {
        // libcurl before 8.8 keeps the errno of a handle's earlier transfer, and so takes an address that got no socket
        // for one that did not respond.
        let number =
            number == CurlCode.operationTimedOut && connection.lacksEverySocket ? CurlCode.couldNotConnect : number
        var report = CurlReport(number: number, meaning: number, text: easy.errorMessage)
        // The text contains the proxy's URL with its password.
        if report.text.hasPrefix("Unsupported proxy") { report.text = "the proxy's URL cannot be used" }
        guard easy.transfers.settings.usesGnuTLS else { return report }
        let bits = curlew_get_long(easy.handle, CURLINFO_SSL_VERIFYRESULT)
        // Over QUIC the address tried last determines the number, even if a certificate chain was refused.
        if number == CurlCode.couldNotConnect, GnuTLSFailure.isRefused(bits), easy.transfers.settings.verifiesTLSProxies
        {
            report.meaning = CurlCode.peerFailedVerification
            report.text =
                "server verification failed: \(GnuTLSFailure.verdict(bits)?.words ?? "certificate not trusted")"
        }
        if number == CurlCode.peerFailedVerification { report.text = GnuTLSFailure.text(report.text, bits) }
        return report
    }

    /// Returns the error with its code, its phase and its reason.
    private func classified(_ report: CurlReport, _ easy: TransferHandle) -> CurlewError {
        var (code, phase) = classify(report, easy)
        var text = Redaction.text(report.text)
        if text.isEmpty { text = String(cString: curl_easy_strerror(CURLcode(UInt32(report.number)))) }
        if code != .clientCertificateRequired, report.isOfBrokenConnection, let alert = connection.tlsAlert,
            TLSFailure.isAboutCertificate(alert: alert)
        {
            (code, phase) = (.clientCertificateRequired, .tls)
            text = "the server closed the connection: " + String(cString: curlew_tls_alert_text(alert))
        } else if report.isOfLongTrailer {
            text = "a trailer field of the response is longer than 4 KB"
        } else if report.number == CurlCode.outOfMemory, code == .limitExceeded {
            text = "a line of the response's head is longer than 100 KB"
        }
        return CurlewError(code, phase: phase, reason: text, native: CurlCode.native(report.number))
    }

    /// Says why there is no connection, if Curlew or the system knows more than libcurl.
    private func explainConnection(_ error: inout CurlewError, _ report: CurlReport, _ easy: TransferHandle) {
        let code = error.code
        if connection.socketError == 0, code == .resolveFailed || report.isOfUnreadableFile {
            // If a file could not be opened, the failed connection has released its descriptor by now: probe for one
            // more.
            connection.socketError = SystemError.descriptorShortage(of: report.isOfUnreadableFile ? 2 : 1)
        }
        let isShortage = SystemError.isShortage(connection.socketError) && report.number == CurlCode.couldNotConnect
        if connection.socketError != 0,
            code == .connectFailed || code == .resolveFailed || report.isOfUnreadableFile || isShortage
        {
            if isShortage { error.phase = .connect }
            if code != .resolveFailed { error.code = .connectFailed }
            error.native = SystemError.native(connection.socketError)
            error.reason = "no socket: \(SystemError.text(connection.socketError))"
        } else if code == .connectFailed, connection.hasOpenedSocket || report.number != CurlCode.couldNotConnect {
            let system = Int32(truncatingIfNeeded: curlew_get_long(easy.handle, CURLINFO_OS_ERRNO))
            if system != 0 { error.underlying = POSIXErrorCode(rawValue: system).map { POSIXError($0) } }
            // libcurl names the host and port of the URL, to which no connection was attempted.
            if let path = easy.transfers.settings.unixSocketPath {
                error.reason = "cannot connect to the Unix socket \(path)"
                if system != 0 { error.reason += ": " + SystemError.text(system) }
                error.suggestion = "Check the path of the socket, and that a server listens there."
            }
        }
        // The refusal of one address says more than the failures of the others.
        if code == .connectFailed, let refused = connection.refusedAddress {
            error.code = .addressRefused
            error.reason = "\(refused) is not a public address"
        }
    }

    /// Adds advice if the URL's scheme does not fit the server: TLS to a server without it, or the reverse.
    private func suggestScheme(_ error: inout CurlewError, _ report: CurlReport, _ settings: EngineSettings) {
        // A handshake with a proxy fails with the same text; then it is unknown which peer does not speak TLS.
        if error.code == .tlsFailed, TLSFailure.isOfPlainPeer(report.text),
            !(usesProxy(settings) && mayUseTLSProxy(settings))
        {
            error.reason = "the server's response to the TLS handshake is not TLS (\(error.reason))"
            error.suggestion =
                "The server does not speak TLS on this port: use its TLS port, "
                + "or begin the URL with http:// if the request may go unencrypted."
        }
        // A TLS server responds to a plain request with a TLS record, or closes the connection. libcurl does not say
        // which.
        if !plan.isTLS, sending.hasBegun, response.head == nil,
            report.number == CurlCode.unsupportedProtocol || report.isOfBrokenConnection,
            let usual = error.recoverySuggestion
        {
            error.suggestion = usual + " If the server speaks TLS on this port, begin the URL with https://."
        }
    }

    /// The status of the proxy's response to CONNECT; `nil` if there was none.
    private func proxyStatus(_ easy: TransferHandle) -> Int? {
        let status = curlew_get_long(easy.handle, CURLINFO_HTTP_CONNECTCODE)
        return status > 0 ? status : nil
    }

    /// The code and the phase by text and number.
    private func classify(_ report: CurlReport, _ easy: TransferHandle) -> (CurlewError.Code, CurlewError.Phase) {
        let (number, text) = (report.meaning, report.text)
        let settings = easy.transfers.settings
        let row = CurlCode.row(number)
        // libcurl's limit for all heads of an exchange appears as a failure to receive.
        if text.hasPrefix("Too large response headers") { return (.limitExceeded, phase) }
        if report.isOfLongTrailer { return (.limitExceeded, phase) }
        // The environment names the proxy, and libcurl reads it itself.
        if text.hasPrefix("HTTP/3 is not supported") { return (.unsupported, .creation) }
        switch number {
        case CurlCode.peerFailedVerification, CurlCode.oldPeerFailedVerification:
            return (TLSFailure.code(of: easy.handle, text, isGnuTLS: settings.usesGnuTLS), .tls)
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
            if usesProxy(settings), number == CurlCode.sendError || number == CurlCode.receiveError,
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
            return usesProxy(settings) ? (.proxyFailed, .proxy) : (row.code, .connect)
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
