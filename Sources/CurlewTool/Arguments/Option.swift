/// Every option of the command. A test checks that each case has exactly one `OptionSpec`.
enum Option: String, CaseIterable, Sendable {
    case json, form, multipart, boundary, raw, compress, chunked
    case print, headers, body, meta, verbose, all, pretty, style, formatOptions, sorted, unsorted, responseCharset,
        responseMIME, stream, output, quiet
    case offline, curl, har, timing
    case download, resume, checksum, segments
    case session, sessionReadOnly, auth, authType, ignoreNetrc
    case cache, cachePolicy
    case follow, maxRedirects, timeout, connectTimeout, checkStatus, retry, limitRate, proxy
    case httpVersion, resolve, unixSocket, ipv4, ipv6, https, defaultScheme, pathAsIs
    case verify, ssl, ciphers, cert, certKey, certKeyPass, pin
    case subprotocol, binary, ping, linger
    case ignoreStdin, debug, help, version
}
