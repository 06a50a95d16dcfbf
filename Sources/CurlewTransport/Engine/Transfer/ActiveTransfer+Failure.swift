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

    func timeout(_ timeout: TransferClocks.Timeout) -> CurlewError {
        makeError(timeout.code, CurlewError.timeoutReason(timeout.code, after: clocks.limit(timeout)))
    }

    func cancellation(_ error: CurlewError) -> CurlewError {
        var error = error
        if error.isCancellation, error.phase == .lifecycle { error.phase = phase }
        return error
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
}
