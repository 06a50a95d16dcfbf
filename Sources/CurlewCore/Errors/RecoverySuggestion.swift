extension CurlewError {
    /// A remedy in one or two sentences; `nil` if there is none.
    public var recoverySuggestion: String? {
        if let suggestion { return suggestion }
        if code == .unacceptableStatus { return Self.suggestion(forStatus: responseCode) }
        return Self.suggestions[code]
    }

    private static func suggestion(forStatus status: Int?) -> String? {
        switch status {
        case 401: "Check the credentials, and the scheme that the server asks for."
        case 404, 410: "Check the URL's path."
        case 407: "Check the credentials for the proxy."
        case 408, 429, 502, 503, 504: "Try again later."
        default: nil
        }
    }

    /// The suggestions for codes that identify the cause well enough. They name no setting of the library, because the
    /// command-line tool shows them as well.
    private static let suggestions: [Code: String] = [
        .invalidURL: "Write the whole URL, beginning with https:// or http://.",
        .invalidHeader: "Check where the field's name and value come from: it may be an attempt to add another field.",
        .invalidBody: "Use another method, or put the parameters into the query.",
        .fileUnreadable: "Check the path and the permissions of the file.",
        .resolveFailed: "Check the spelling of the host name, and that the network is up.",
        .connectFailed: "Check that the server is running, and that this is the right port.",
        .proxyFailed: "Check the proxy's URL and credentials, also in http_proxy, https_proxy and all_proxy.",
        .tlsFailed: "Check that the server offers TLS on this port, in a version that is allowed here.",
        .certificateUntrusted: "Trust the certificate authority that signed it, "
            + "or install the system's list of them (the package ca-certificates).",
        .certificateExpired: "Check the clock of this machine, and tell the server's owner.",
        .certificateHostMismatch: "Use a host name that the certificate is made out to.",
        .certificateRevoked: "Do not connect, and tell the server's owner.",
        .clientCertificateRequired: "Present a client certificate that the server accepts.",
        .sendFailed: "Send the request again if it may take effect twice.",
        .receiveFailed: "Send the request again if it may take effect twice.",
        .truncated: "Send the request again. A download can be resumed.",
        .protocolViolation: "Check that an HTTP server listens on this port, and whether it is http or https.",
        .contentDecodingFailed: "Ask for the body as it is: Accept-Encoding: identity.",
        .limitExceeded: "Ask for less, or raise the limit.",
        .queueTimedOut: "Send fewer requests at once, allow more connections, or wait longer.",
        .connectTimedOut: "Look for a firewall in between, or wait longer.",
        .firstByteTimedOut: "Give the server more time to answer.",
        .idleTimedOut: "Allow longer pauses, or send the request again.",
        .totalTimedOut: "Allow more time, or request less.",
        .tooManyRedirects: "Look at where the redirects lead. A missing cookie is the usual reason.",
        .redirectRefused: "Request the new address directly.",
        .authenticationFailed: "Check the credentials, and the scheme that the server asks for.",
        .unacceptableContentType: "Read the beginning of the body: it is usually an error page, or one to log in.",
        .decodingFailed: "Compare the body with what was expected of it.",
        .destinationExists: "Choose another name, or replace the file.",
        .destinationMissing: "Create the directory first.",
        .diskFull: "Free some space.",
        .moveFailed: "Check the permissions of the directory.",
        .resumeRejected: "Start the download over.",
        .notInCache: "Allow the request to go to the server.",
        .sessionClosed: "Keep the session for as long as it has requests.",
        .webSocketRefused: "Check that the URL is that of a WebSocket.",
    ]
}
