internal import CCurl
internal import CurlewCore

/// An easy handle that serves one transfer after another. It is created, set up and freed in the loop's turns.
///
/// It is also the data pointer of libcurl's callbacks. They are set once and stay valid from request to request,
/// because only `transfer` changes.
final class TransferHandle: CurlEasy {
    /// The transfer that runs on the handle. This reference keeps it alive as long as libcurl may call back.
    var transfer: ActiveTransfer? {
        didSet {
            lastHead.restart()
            socket = -1
        }
    }
    // SAFETY: the engine owns `Transfers`, and frees every handle before it.
    unowned(unsafe) let transfers: Transfers
    // SAFETY: unchecked for speed (Docs/Internals/Engine.md); no access spans a call into libcurl or user code.
    @exclusivity(unchecked) var lastHead = RepeatedHead()
    /// The socket from which the handle reads for its transfer; -1 if unknown. Recorded only with
    /// `LibcurlQuirks.readsWhilePaused`.
    var socket: Int32 = -1
    /// Whether libcurl has read the body of a request with trailers to its end, so that they follow. Such a handle may
    /// not send another chunked body (`LibcurlQuirks.sendsTrailersOnce`). `reset` does not change that.
    private(set) var sendsTrailers = false

    /// Whether the handle may serve an unrelated request after this one. False if its plan enlarged the receive buffer,
    /// which libcurl does not reduce again, or if it sends trailers.
    var isReusable: Bool { !hasEnlargedBuffer && !sendsTrailers }
    private var hasEnlargedBuffer = false
    /// libcurl closes the connection after the transfer, whatever its plan says.
    private(set) var closesConnection = false

    private var appliedSettings: [OptionValue]?
    /// Set if the handle's header list is the one that requests of the session share.
    private var defaultHeaderList: CurlStringList?

    init?(_ transfers: Transfers) {
        self.transfers = transfers
        super.init()
    }

    /// The object of one of libcurl's handles; `nil` if the handle has none.
    static func of(_ handle: UnsafeMutableRawPointer) -> TransferHandle? {
        guard let own = curlew_get_string(handle, CURLINFO_PRIVATE) else { return nil }
        // SAFETY: CURLOPT_PRIVATE is the TransferHandle, which lives as long as its handle.
        return Unmanaged<TransferHandle>.fromOpaque(UnsafeRawPointer(own)).takeUnretainedValue()
    }

    /// Has libcurl close the connection after the transfer, unless others use it. May be called while the transfer
    /// runs.
    func closesConnectionAfterwards() {
        closesConnection = curlew_set_long(handle, CURLOPT_FORBID_REUSE, 1) == CURLE_OK
    }

    /// Called when libcurl has read the transfer's body to its end.
    func bodyEnded() {
        if transfer?.request.trailers != nil { sendsTrailers = true }
    }

    /// Called with each header line if libcurl has `LibcurlQuirks.keepsFreedField`. After a status line, lets the trace
    /// see the next line before libcurl stores it: if that line is folded, libcurl would append it to memory that it
    /// has freed.
    func lookAhead(behind line: UnsafeRawBufferPointer) {
        let isStatusLine = line.count > 5 && HeadCollector.isStatusLine(line)
        setTrace(isStatusLine ? trace.union(.nextLine) : trace.subtracting(.nextLine))
    }

    // MARK: Setting up

    /// Prepares the handle for a transfer's plan.
    func apply(_ transfer: ActiveTransfer, share: UnsafeMutableRawPointer?) -> CURLcode {
        errorText.pointee = 0
        let (settings, needsOwnHandle) = (transfer.plan.settings, transfer.plan.needsOwnHandle)
        if needsOwnHandle || appliedSettings != settings {
            if appliedSettings != nil { reset() }
            let code = applyBase(share)
            guard code == CURLE_OK else { return code }
            for value in settings {
                let code = set(value)
                guard code == CURLE_OK else { return code }
            }
            appliedSettings = needsOwnHandle ? [] : settings
            // `Handles.recycle` resets a handle whose plan needs its own.
            hasEnlargedBuffer = !needsOwnHandle && settings.contains { $0.option == CURLOPT_BUFFERSIZE }
        }
        var code = setURL(transfer.plan.wire.string, transfer.plan.wire.outline)
        guard code == CURLE_OK else { return code }
        var resolved: CurlStringList?
        if let question = transfer.plan.question, let found = transfer.connection.resolvedAddresses {
            resolved = CurlStringList(lines: [question.resolveEntry(found)])
        }
        code = setAddresses(resolved)
        guard code == CURLE_OK else { return code }
        // A session's list may be set already. It is retained, so that no other list gets its address. A request's own
        // list, which may hold secrets, is not.
        if defaultHeaderList == nil || defaultHeaderList !== transfer.headerList {
            code = curlew_set_list(handle, CURLOPT_HTTPHEADER, transfer.headerList?.head)
            guard code == CURLE_OK else { return code }
            defaultHeaderList = transfer.plan.headerLines.isEmpty ? transfer.headerList : nil
        }
        switch transfer.plan.body {
        case .none: break
        case .fields: if let bytes = transfer.sending.fields { code = setFields(bytes) }
        case .upload(let length): code = curlew_set_offset(handle, CURLOPT_INFILESIZE_LARGE, length ?? -1)
        }
        if transfer.request.trailers != nil {
            // SAFETY: outlives its handle.
            Callbacks.installTrailers(on: handle, easy: Unmanaged.passUnretained(self).toOpaque())
        }
        return code
    }

    override func reset() {
        super.reset()
        hasEnlargedBuffer = false
        closesConnection = false
        appliedSettings = nil
        defaultHeaderList = nil
    }

    /// Sets the options that all requests of the engine share.
    private func applyBase(_ share: UnsafeMutableRawPointer?) -> CURLcode {
        let own = Unmanaged.passUnretained(self).toOpaque()  // SAFETY: outlives its handle
        curlew_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText)
        curlew_set_pointer(handle, CURLOPT_PRIVATE, own)
        // TLS sessions are shared by the engine: libcurl 7 would store them in this handle, for this handle alone.
        if let share { curlew_set_pointer(handle, CURLOPT_SHARE, share) }
        // SAFETY: the engine frees every handle before `Sockets`.
        Callbacks.install(
            on: handle, easy: own, sockets: Unmanaged.passUnretained(transfers.sockets).toOpaque(), transfers.settings)
        for value in transfers.settings.base.options {
            let code = set(value)
            guard code == CURLE_OK else { return code }
        }
        for value in transfers.settings.material.options {
            let code = set(value)
            guard code == CURLE_OK else { return code }
        }
        return CURLE_OK
    }
}
