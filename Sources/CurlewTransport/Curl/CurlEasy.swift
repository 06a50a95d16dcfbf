internal import CCurl
internal import CurlewCore
internal import Foundation

/// One easy handle of libcurl, with the memory that its options refer to.
class CurlEasy {
    // SAFETY: curl_easy_init never gives a handle that another object has; freed in deinit.
    let handle: UnsafeMutableRawPointer
    /// Which multi handle it is in, -1 for none.
    var multi = -1

    /// Whether libcurl tells what it does, line by line, to the debug callback.
    final var traces = false { didSet { isVerbose = traces || showsNextLine } }

    /// Whether the debug callback is shown the next line of a head before libcurl stores it.
    final var showsNextLine = false { didSet { isVerbose = traces || showsNextLine } }

    private var isVerbose = false {
        didSet { if isVerbose != oldValue { curlew_set_long(handle, CURLOPT_VERBOSE, isVerbose ? 1 : 0) } }
    }

    private let errorText: UnsafeMutablePointer<CChar>
    private var lists: [HeaderList] = []
    private var addresses: HeaderList?
    /// The index of the multi handle that has them; -1 for none yet.
    private var addressesMulti = -1
    private var parts = URLParts()
    /// What libcurl has of them: the handle of `parts`, or nothing.
    private var handedParts: OpaquePointer?
    /// Bytes that libcurl reads in place.
    private var blobs: [NSData] = []

    init?() {
        guard let handle = curl_easy_init() else { return nil }
        self.handle = handle
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.pointee = 0
    }

    deinit {
        // A handle that was reset has forgotten that it is to leave the process's signals alone.
        curlew_set_long(handle, CURLOPT_NOSIGNAL, 1)
        curl_easy_cleanup(handle)
        errorText.deallocate()
    }

    /// libcurl's own words about the last failure; empty where it has none.
    final var errorMessage: String { String(cString: errorText) }

    final func clearError() { errorText.pointee = 0 }

    // MARK: Setting up

    /// For a handle that is new or was reset: has libcurl put its words about failures where `errorMessage` reads them.
    final func setErrorText() { curlew_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText) }

    /// Sets the URL, by its parts where they can be taken.
    final func apply(_ url: String, _ outline: URLOutline?) -> CURLcode {
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
    final func setFields(_ bytes: UnsafeRawBufferPointer) -> CURLcode {
        let code = curlew_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, Int64(bytes.count))
        guard code == CURLE_OK else { return code }
        return curlew_set_pointer(handle, CURLOPT_POSTFIELDS, bytes.baseAddress)
    }

    /// Back to a new handle's options; its connections and caches stay.
    func reset() {
        curl_easy_reset(handle)
        traces = false
        showsNextLine = false
        handedParts = nil
        if addresses != nil {
            // libcurl has this list twice, and forgets only one of them: a handle that did not run would read it later.
            curlew_set_list(handle, CURLOPT_RESOLVE, nil)
            addresses = nil
            addressesMulti = -1
        }
        lists.removeAll()
        blobs.removeAll()
    }

    /// It is about to be given to a multi handle. libcurl reads a list of addresses once, into the names of the multi handle that
    /// runs it then: another one has to be given it, too.
    final func goes(to multi: Int) {
        guard let addresses, addressesMulti != multi else { return }
        if addressesMulti >= 0 { curlew_set_list(handle, CURLOPT_RESOLVE, addresses.head) }
        addressesMulti = multi
    }

    final func set(_ value: OptionValue) -> CURLcode {
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
            if option == CURLOPT_RESOLVE { addresses = list }
            return curlew_set_list(handle, option, list.head)
        }
    }
}
