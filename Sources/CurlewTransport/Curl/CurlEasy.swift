internal import CCurl
internal import CurlewCore
internal import Foundation

/// An easy handle of libcurl, with the memory that its options refer to.
class CurlEasy {
    // SAFETY: curl_easy_init never gives a handle that another object has; freed in deinit.
    let handle: UnsafeMutableRawPointer
    /// The index of the multi handle that the handle is in.
    var multi = MultiIndex.none

    /// The purposes of the debug callback.
    struct Trace: OptionSet {
        let rawValue: UInt8
        /// libcurl's work, line by line.
        static let work = Trace(rawValue: 1)
        /// The next line of a head, before libcurl stores it.
        static let nextLine = Trace(rawValue: 2)
    }

    final private(set) var trace: Trace = []

    /// Sets the purposes of the debug callback. libcurl has one switch for all of them.
    final func setTrace(_ wanted: Trace) {
        trace = wanted
        setTracing(!wanted.isEmpty)
    }

    /// Turns the debug callback off, or on again if it has a purpose. `setTrace` also turns it on.
    final func muteTrace(_ isMuted: Bool) { setTracing(!isMuted && !trace.isEmpty) }

    /// Whether libcurl calls the debug callback.
    final private(set) var isTracing = false

    private func setTracing(_ wanted: Bool) {
        if wanted != isTracing { curlew_set_long(handle, CURLOPT_VERBOSE, wanted ? 1 : 0) }
        isTracing = wanted
    }

    /// libcurl's buffer for its message about a failure.
    final let errorText: UnsafeMutablePointer<CChar>
    private var lists: [CurlStringList] = []
    /// The configured addresses of the host, if the options have some.
    private var configuredAddresses: CurlStringList?
    /// The addresses of the last transfer's host, if the user's resolver has found them.
    private var resolvedAddresses: CurlStringList?
    private var parts = URLParts()
    /// The handle of `parts` if libcurl takes the URL from it, `nil` otherwise.
    private var handedParts: OpaquePointer?
    /// Blobs that libcurl reads in place.
    private var blobs: [NSData] = []

    init?() {
        guard let handle = curl_easy_init() else { return nil }
        self.handle = handle
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.pointee = 0
    }

    deinit {
        // curl_easy_reset clears this option, and the clean-up must not touch the process's signals.
        curlew_set_long(handle, CURLOPT_NOSIGNAL, 1)
        curl_easy_cleanup(handle)
        errorText.deallocate()
    }

    /// libcurl's message about the last failure; may be empty.
    final var errorMessage: String { String(cString: errorText) }

    // MARK: Setting up

    /// Sets the URL, by its parts if libcurl takes them unchanged.
    final func setURL(_ url: String, _ outline: URLOutline?) -> CURLcode {
        let handed = parts?.set(url, outline) ?? false ? parts?.handle : nil
        if handed != handedParts {
            let code = curlew_set_pointer(handle, CURLOPT_CURLU, handed.map { UnsafeRawPointer($0) })
            guard code == CURLE_OK else { return code }
            handedParts = handed
        }
        // The text is set beside the parts, because libcurl takes the URL of a request that it repeats from the text.
        // It is set after them, because versions differ in the options that setting the parts clears.
        return url.withCString { curlew_set_string(handle, CURLOPT_URL, $0) }
    }

    /// Sets a small body. libcurl sends it from the caller's memory, which must outlive the transfer.
    final func setFields(_ bytes: UnsafeRawBufferPointer) -> CURLcode {
        let code = curlew_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, Int64(bytes.count))
        guard code == CURLE_OK else { return code }
        return curlew_set_pointer(handle, CURLOPT_POSTFIELDS, bytes.baseAddress)
    }

    /// Restores the options of a new handle. Connections and caches are kept.
    func reset() {
        curl_easy_reset(handle)
        setTrace([])
        handedParts = nil
        if configuredAddresses != nil || resolvedAddresses != nil {
            // libcurl stores this list twice, and curl_easy_reset clears only one of the two. A handle that was set up
            // but did not run would read the other one after the list is freed.
            curlew_set_list(handle, CURLOPT_RESOLVE, nil)
            (configuredAddresses, resolvedAddresses) = (nil, nil)
        }
        lists.removeAll()
        blobs.removeAll()
    }

    /// Gives libcurl the addresses of the next transfer's host: those that the user's resolver has found, or those of
    /// the options. Call it for each transfer, after its options are set, because libcurl reads the list once: when the
    /// transfer begins, into the DNS cache of the multi handle that runs it, in place of an older entry.
    final func setAddresses(_ resolved: CurlStringList?) -> CURLcode {
        guard resolved != nil || resolvedAddresses != nil || configuredAddresses != nil else { return CURLE_OK }
        let code = curlew_set_list(handle, CURLOPT_RESOLVE, (resolved ?? configuredAddresses)?.head)
        resolvedAddresses = resolved
        return code
    }

    final func set(_ value: OptionValue) -> CURLcode {
        switch value {
        case .long(let option, let number): return curlew_set_long(handle, option, number)
        case .offset(let option, let number): return curlew_set_offset(handle, option, number)
        case .string(let option, let text): return curlew_set_string(handle, option, text)
        case .null(let option): return curlew_set_string(handle, option, nil)
        case .blob(let option, let data):
            let bytes = data as NSData
            blobs.append(bytes)
            return curlew_set_blob(handle, option, bytes.bytes, bytes.length)
        case .list(let option, let lines):
            let list = CurlStringList(lines: lines)
            lists.append(list)
            if option == CURLOPT_RESOLVE { configuredAddresses = list }
            return curlew_set_list(handle, option, list.head)
        }
    }
}

/// An option of an easy handle with its value. Plans consist of these. Equatable, so that a handle that has the same
/// values is not set up again.
enum OptionValue: Equatable, Sendable {
    case long(CURLoption, Int)
    case offset(CURLoption, Int64)
    case string(CURLoption, String)
    /// A string option that is set to NULL, which differs from an option that is not set.
    case null(CURLoption)
    case blob(CURLoption, Data)
    case list(CURLoption, [String])

    var option: CURLoption {
        switch self {
        case .long(let option, _), .offset(let option, _), .string(let option, _), .null(let option),
            .blob(let option, _), .list(let option, _):
            option
        }
    }
}

extension OptionValue: CustomStringConvertible {
    static func name(of option: CURLoption) -> String {
        curlew_option_name(option).map { String(cString: $0) } ?? "\(option.rawValue)"
    }

    var description: String {
        let name = Self.name(of: option)
        return switch self {
        case .long(_, let value): "\(name)=\(value)"
        case .offset(_, let value): "\(name)=\(value)"
        case .string(_, let value): "\(name)=\"\(value)\""
        case .null: "\(name)=NULL"
        case .blob(_, let data): "\(name)=<\(data.count) bytes>"
        case .list(_, let lines): "\(name)=[\(lines.joined(separator: ", "))]"
        }
    }
}

extension CURLoption {
    /// Options that the header at compile time may lack.
    static let quickExit = CURLoption(rawValue: UInt32(CURLEW_OPT_QUICK_EXIT))
    static let protocolsString = CURLoption(rawValue: UInt32(CURLEW_OPT_PROTOCOLS_STR))
    static let prereqData = CURLoption(rawValue: UInt32(CURLEW_OPT_PREREQDATA))
    static let maximumLifetime = CURLoption(rawValue: UInt32(CURLEW_OPT_MAXLIFETIME_CONN))
}

/// Lines as a `curl_slist` in one allocation: the nodes, followed by the text.
///
/// A request's header lines can end in its session's shared list, so that default headers are not copied for each
/// request. libcurl only reads a list; its owner keeps it alive while it is set.
// SAFETY: the memory is written in init only; the reference keeps `rest` alive.
final class CurlStringList: @unchecked Sendable {
    private let storage: UnsafeMutableRawPointer?
    let rest: CurlStringList?
    let head: UnsafeMutablePointer<curl_slist>?

    init(lines: [String], rest: CurlStringList? = nil) {
        self.rest = rest
        guard !lines.isEmpty else {
            storage = nil
            head = rest?.head
            return
        }
        let nodeBytes = lines.count * MemoryLayout<curl_slist>.stride
        let textBytes = lines.reduce(0) { $0 + $1.utf8.count + 1 }
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: nodeBytes + textBytes,
            alignment: MemoryLayout<curl_slist>.alignment
        )
        let nodes = memory.bindMemory(to: curl_slist.self, capacity: lines.count)
        var text = memory + nodeBytes
        for (index, line) in lines.enumerated() {
            let count = line.utf8.count
            let bytes = UnsafeMutableRawBufferPointer(start: text, count: count)
            bytes.copyBytes(from: line.utf8)
            text.storeBytes(of: 0, toByteOffset: count, as: UInt8.self)
            let next = index + 1 < lines.count ? nodes + index + 1 : rest?.head
            (nodes + index).initialize(
                to: curl_slist(data: text.assumingMemoryBound(to: CChar.self), next: next)
            )
            text += count + 1
        }
        storage = memory
        head = nodes
    }

    deinit { storage?.deallocate() }
}
