internal import CCurl
internal import CurlewCore

/// The easy handle of one transfer after the other: made, set up and freed in the loop's turns.
///
/// It is also what libcurl's callbacks get as their data, so the callbacks are set once and stay valid
/// from request to request; the transfer that uses it is filled in and taken out.
final class TransferHandle: CurlEasy {
    /// The transfer that runs on it. Kept alive by this reference as long as libcurl may call back.
    var transfer: ActiveTransfer? {
        didSet {
            unretainedTransfer = transfer.map { Unmanaged.passUnretained($0) }  // SAFETY: `transfer` retains it
            lastHead.restart()
        }
    }
    // SAFETY: the engine owns both, and frees every handle before them.
    unowned(unsafe) let transfers: Transfers
    /// Both again, for callbacks.
    // SAFETY: `transfer` and the engine retain what these point to as long as libcurl may call back.
    private(set) var unretainedTransfer: Unmanaged<ActiveTransfer>?
    let unretainedTransfers: Unmanaged<Transfers>
    // SAFETY: unchecked, because the checks for each header line are 1 % of a session's instructions. No access lasts
    // while libcurl or foreign code runs.
    @exclusivity(unchecked) var lastHead = RepeatedHead()
    /// The connection that it reads from, where `EngineSettings.libcurlReadsWhilePaused` makes that of interest; or -1.
    var socket: Int32 = -1

    private var appliedSettings: [OptionValue]?
    private var sharedHeaders: HeaderList?

    init?(_ transfers: Transfers) {
        self.transfers = transfers
        unretainedTransfers = Unmanaged.passUnretained(transfers)  // SAFETY: as `transfers`
        super.init()
    }

    /// The object of one of libcurl's handles.
    static func of(_ handle: UnsafeMutableRawPointer) -> TransferHandle? {
        guard let own = curlew_get_string(handle, CURLINFO_PRIVATE) else { return nil }
        // SAFETY: CURLOPT_PRIVATE is the TransferHandle, which lives as long as its handle.
        return Unmanaged<TransferHandle>.fromOpaque(UnsafeRawPointer(own)).takeUnretainedValue()
    }

    /// A status line came: where libcurl would store a folded line behind it in memory that it has freed, that line is to be
    /// seen first.
    func looksAhead(behind line: UnsafeRawBufferPointer) {
        guard transfers.settings.libcurlKeepsFreedField else { return }
        let isStatusLine = line.count > 5 && HeadCollector.isStatusLine(line)
        if isStatusLine != showsNextLine { showsNextLine = isStatusLine }
    }

    // MARK: Setting up

    /// Makes the handle ready for a transfer's plan. `base` is the same for every call.
    func apply(
        _ transfer: ActiveTransfer, base: ConnectionPlan, material: TrustMaterial, share: UnsafeMutableRawPointer?
    ) -> CURLcode {
        clearError()
        // Read field by field: a plan is large, and would be copied.
        let (settings, needsOwnHandle) = (transfer.plan.settings, transfer.plan.needsOwnHandle)
        if needsOwnHandle || appliedSettings != settings {
            if appliedSettings != nil { reset() }
            let code = applyBase(base, material, share)
            guard code == CURLE_OK else { return code }
            for value in settings {
                let code = set(value)
                guard code == CURLE_OK else { return code }
            }
            appliedSettings = needsOwnHandle ? [] : settings
        }
        var code = apply(transfer.plan.wire.string, transfer.plan.wire.outline)
        guard code == CURLE_OK else { return code }
        // A session's list may be there already. It is kept, so that no other gets its address; a request's own,
        // which may hold secrets, is not.
        if sharedHeaders == nil || sharedHeaders !== transfer.headers {
            code = curlew_set_list(handle, CURLOPT_HTTPHEADER, transfer.headers?.head)
            guard code == CURLE_OK else { return code }
            sharedHeaders = transfer.plan.headerLines.isEmpty ? transfer.headers : nil
        }
        switch transfer.plan.body {
        case .none: break
        // Pointer and length are set by the transfer, which keeps the bytes.
        case .fields: break
        case .upload(let length): code = curlew_set_offset(handle, CURLOPT_INFILESIZE_LARGE, length ?? -1)
        }
        return code
    }

    /// Whether it may serve an unrelated request after this one.
    var isReusable: Bool {
        // A receive buffer once made large stays large.
        appliedSettings?.contains { $0.option == CURLOPT_BUFFERSIZE } != true
    }

    override func reset() {
        super.reset()
        appliedSettings = nil
        sharedHeaders = nil
    }

    private func applyBase(_ base: ConnectionPlan, _ material: TrustMaterial, _ share: UnsafeMutableRawPointer?)
        -> CURLcode
    {
        let own = Unmanaged.passUnretained(self).toOpaque()  // SAFETY: outlives its handle
        setErrorText()
        curlew_set_pointer(handle, CURLOPT_PRIVATE, own)
        // TLS sessions belong to the engine: in a handle of libcurl 7 they would serve that handle only.
        if let share { curlew_set_pointer(handle, CURLOPT_SHARE, share) }
        // SAFETY: the engine frees every handle before its sockets' owner.
        Callbacks.install(
            on: handle, easy: own, sockets: Unmanaged.passUnretained(transfers.sockets).toOpaque(),
            asksBeforeSending: transfers.settings.libcurlAsksBeforeSending)
        if transfers.settings.usesOpenSSL { Callbacks.installContext(on: handle, easy: own) }
        for value in base.options {
            let code = set(value)
            guard code == CURLE_OK else { return code }
        }
        for value in material.options {
            let code = set(value)
            guard code == CURLE_OK else { return code }
        }
        return CURLE_OK
    }
}
