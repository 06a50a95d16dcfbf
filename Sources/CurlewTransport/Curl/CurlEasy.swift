internal import CCurl
internal import CurlewCore
internal import Foundation

/// One easy handle: made, set up and freed on the loop thread.
///
/// It is also what libcurl's callbacks get as their data, so the callbacks are set once and stay valid
/// from request to request; the transfer that uses it is filled in and taken out.
final class CurlEasy {
    // SAFETY: curl_easy_init never gives a handle that another object has; freed in deinit.
    let handle: UnsafeMutableRawPointer
    /// The transfer that runs on it. Kept alive by this reference as long as libcurl may call back.
    var transfer: ActiveTransfer? {
        didSet {
            unretainedTransfer = transfer.map { Unmanaged.passUnretained($0) }  // SAFETY: `transfer` retains it
            lastHead.restart()
        }
    }
    // SAFETY: the book owns its handles and outlives them.
    unowned(unsafe) let book: TransferBook
    /// Both again, for callbacks.
    // SAFETY: `transfer` and the book's owner retain what these point to as long as libcurl may call back.
    private(set) var unretainedTransfer: Unmanaged<ActiveTransfer>?
    let unretainedBook: Unmanaged<TransferBook>
    // SAFETY: unchecked for the reason given in TransferBook.
    @exclusivity(unchecked) var lastHead = RepeatedHead()
    /// Which multi handle it is in, -1 for none.
    var multi = -1
    /// The connection that it reads from, where `EngineSettings.libcurlReadsWhilePaused` makes that of interest; or -1.
    var socket: Int32 = -1

    /// Whether libcurl tells what it does, line by line, to the transfer's witness.
    var traces = false {
        didSet { if traces != oldValue { curlew_set_long(handle, CURLOPT_VERBOSE, traces ? 1 : 0) } }
    }

    private let errorText: UnsafeMutablePointer<CChar>
    private var appliedSettings: [OptionValue]?
    private var lists: [HeaderList] = []
    private var sharedHeaders: HeaderList?
    private var parts = URLParts()
    /// What libcurl has of them: the handle of `parts`, or nothing.
    private var handedParts: OpaquePointer?
    /// Bytes that libcurl reads in place.
    private var blobs: [NSData] = []

    // SAFETY: the book outlives its handles: it frees them all before it goes.
    init?(book: TransferBook) {
        guard let handle = curl_easy_init() else { return nil }
        self.handle = handle
        self.book = book
        unretainedBook = Unmanaged.passUnretained(book)  // SAFETY: as `book`
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.pointee = 0
    }

    deinit {
        curl_easy_cleanup(handle)
        errorText.deallocate()
    }

    /// The object of one of libcurl's handles.
    static func of(_ handle: UnsafeMutableRawPointer) -> CurlEasy? {
        guard let own = curlew_get_string(handle, CURLINFO_PRIVATE) else { return nil }
        // SAFETY: CURLOPT_PRIVATE is the CurlEasy, which lives as long as its handle.
        return Unmanaged<CurlEasy>.fromOpaque(UnsafeRawPointer(own)).takeUnretainedValue()
    }

    /// libcurl's own words about the last failure; empty where it has none.
    var errorMessage: String { String(cString: errorText) }

    // MARK: Setting up

    /// Makes the handle ready for a transfer's plan. `base` is the same for every call.
    func apply(
        _ transfer: ActiveTransfer, base: ConnectionPlan, material: TrustMaterial, share: UnsafeMutableRawPointer?
    ) -> CURLcode {
        errorText.pointee = 0
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

    private func apply(_ url: String, _ outline: URLOutline?) -> CURLcode {
        let handed = parts?.take(url, outline) ?? false ? parts?.handle : nil
        if handed != handedParts {
            let code = curlew_set_pointer(handle, CURLOPT_CURLU, handed.map { UnsafeRawPointer($0) })
            guard code == CURLE_OK else { return code }
            handedParts = handed
        }
        // Also beside the parts: what libcurl sends again by itself it takes from here. After them, because versions
        // differ in what they forget when they get parts.
        return url.withCString { curlew_set_string(handle, CURLOPT_URL, $0) }
    }

    /// Small bodies are sent from where they are.
    func setFields(_ bytes: UnsafeRawBufferPointer) -> CURLcode {
        let code = curlew_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, Int64(bytes.count))
        guard code == CURLE_OK else { return code }
        return curlew_set_pointer(handle, CURLOPT_POSTFIELDS, bytes.baseAddress)
    }

    /// Back to a new handle's options; its connections and caches stay.
    func reset() {
        curl_easy_reset(handle)
        traces = false
        appliedSettings = nil
        handedParts = nil
        sharedHeaders = nil
        lists.removeAll()
        blobs.removeAll()
    }

    /// Whether it may serve an unrelated request after this one.
    var isReusable: Bool {
        // A receive buffer once made large stays large.
        appliedSettings?.contains { $0.option == CURLOPT_BUFFERSIZE } != true
    }

    private func applyBase(_ base: ConnectionPlan, _ material: TrustMaterial, _ share: UnsafeMutableRawPointer?)
        -> CURLcode
    {
        let own = Unmanaged.passUnretained(self).toOpaque()  // SAFETY: outlives its handle
        curlew_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText)
        curlew_set_pointer(handle, CURLOPT_PRIVATE, own)
        // TLS sessions belong to the engine: in a handle of libcurl 7 they would serve that handle only.
        if let share { curlew_set_pointer(handle, CURLOPT_SHARE, share) }
        // SAFETY: the book outlives every handle that it made.
        Callbacks.install(on: handle, easy: own, book: Unmanaged.passUnretained(book).toOpaque())
        if book.settings.usesOpenSSL { Callbacks.installContext(on: handle, easy: own) }
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

    private func set(_ value: OptionValue) -> CURLcode {
        switch value {
        case .long(let option, let number): return curlew_set_long(handle, option, number)
        case .offset(let option, let number): return curlew_set_offset(handle, option, number)
        case .string(let option, let text):
            // libcurl does not copy POSTFIELDS; only the empty body is a plan's own.
            if option == CURLOPT_POSTFIELDS { return curlew_set_string(handle, CURLOPT_COPYPOSTFIELDS, text) }
            return curlew_set_string(handle, option, text)
        case .null(let option): return curlew_set_string(handle, option, nil)
        case .blob(let option, let data):
            let bytes = data as NSData
            blobs.append(bytes)
            return curlew_set_blob(handle, option, bytes.bytes, bytes.length)
        case .bytes(let option, let data):
            return data.withUnsafeBytes { bytes in
                let code = curlew_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, Int64(bytes.count))
                guard code == CURLE_OK else { return code }
                return curlew_set_pointer(handle, option, bytes.baseAddress)
            }
        case .list(let option, let lines):
            let list = HeaderList(lines: lines)
            lists.append(list)
            return curlew_set_list(handle, option, list.head)
        }
    }
}
