internal import CCurl
internal import CurlewCore
internal import Foundation

/// A request with its signature (AWS Signature Version 4) in its header fields. Independent of libcurl's version.
///
/// CURLOPT_AWS_SIGV4 is not used. Up to 8.5 at least it signs the path unchanged, although all services but S3 sign it
/// encoded once more; 7.88 does not sort the fields and the query; and every version signs only bodies that are in
/// memory.
struct SignedRequest {
    /// The URL to sign and send.
    let url: String
    /// The unsigned request with the fields of the signature.
    let request: TransferRequest

    init(
        _ unsigned: TransferRequest,
        _ wire: WireURL,
        _ authentication: TransferAuthentication,
        keepsDotSegments: Bool = false,
        date: Date
    ) throws(CurlewError) {
        guard case .awsSigV4(let provider) = authentication.scheme else {
            (url, request) = (wire.string, unsigned)
            return
        }
        try AuthenticationPlan.check([provider, authentication.username, authentication.password])
        guard let scope = SigningScope(provider, host: wire.host) else {
            throw CurlewError(
                .invalidURL,
                phase: .creation,
                reason: "neither the provider of the signature nor the host names service and region",
                url: unsigned.url
            )
        }
        let target = SignedURL(
            wire.string, takesPathAsItIs: scope.takesPathAsItIs, keepsDotSegments: keepsDotSegments)
        url = target.text
        var signed = unsigned
        // A field that the request already has takes precedence.
        guard !signed.headers.contains(name: "Authorization") else {
            request = signed
            return
        }
        let host = Self.host(wire, signed.effectiveHeaders)
        signed.headers.add(name: "Host", value: host)
        let timestamp = try Self.timestamp(&signed, scope, date)
        let hash = try Self.payloadHash(&signed, scope)
        let canonical = CanonicalRequest(
            method: signed.method.rawValue,
            path: target.path,
            query: target.query,
            headers: Self.signedFields(of: signed),
            payloadHash: hash,
            takesPathAsItIs: scope.takesPathAsItIs
        )
        let signature = SignatureV4(
            of: canonical,
            scope: scope,
            timestamp: timestamp,
            accessKey: authentication.username,
            secretKey: authentication.password,
            hash: Self.sha256
        )
        signed.headers.add(name: "Authorization", value: signature.authorization)
        request = signed
    }

    // MARK: Fields

    /// Returns the Host field that libcurl would send. It is set explicitly, so that the signature covers exactly this
    /// text.
    private static func host(_ wire: WireURL, _ headers: HTTPHeaders) -> String {
        if let own = headers.value(for: "Host") { return own }
        let name = Hostname.bracketed(wire.host.lowercased())
        return wire.port == (wire.isTLS ? 443 : 80) ? name : "\(name):\(wire.port)"
    }

    private static func timestamp(_ request: inout TransferRequest, _ scope: SigningScope, _ date: Date)
        throws(CurlewError) -> String
    {
        guard let own = request.effectiveHeaders.value(for: scope.dateField) else {
            let now = SignatureV4.timestamp(of: date)
            request.headers.add(name: scope.dateField, value: now)
            return now
        }
        guard SignatureV4.isTimestamp(own) else {
            throw CurlewError(
                .invalidHeader,
                phase: .creation,
                reason: "\(scope.dateField) is not of the form 20150830T123600Z"
            )
        }
        return own
    }

    /// Returns the hash of the body, or the request's own field for it. S3 requires the hash in a field, too, and
    /// accepts a streamed body without one.
    private static func payloadHash(_ request: inout TransferRequest, _ scope: SigningScope)
        throws(CurlewError) -> String
    {
        if let own = request.effectiveHeaders.value(for: scope.contentHashField) { return own }
        let isS3 = scope.takesPathAsItIs && scope.fieldVendor == "amz"
        let hash: String
        switch request.body {
        case .none: hash = Checksum.hex(sha256([]))
        case .data(let data): hash = Checksum.hex(sha256(data))
        case .file, .stream:
            guard isS3 else {
                throw .unsupported(
                    feature: "signing a body that is streamed",
                    needs: "its hash in a field \(scope.contentHashField)"
                )
            }
            hash = "UNSIGNED-PAYLOAD"
        }
        if isS3 { request.headers.add(name: scope.contentHashField, value: hash) }
        return hash
    }

    /// The fields that are not signed, because they belong to one connection or because proxies add or rewrite them.
    private static let unsigned: Set<String> = [
        "accept-encoding", "accept-language", "authorization", "connection", "expect", "keep-alive",
        "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "x-amzn-trace-id",
    ]

    private static func signedFields(of request: TransferRequest) -> HTTPHeaders {
        let length: Int? = if case .data(let data) = request.body { data.count } else { nil }
        return HTTPHeaders(
            received: request.effectiveHeaders.filter { field in
                let name = field.name.lowercased()
                // The transport itself writes the length, but not in every request. A caller's field is signed only if
                // it equals the body's length.
                return name == "content-length" ? length.map(String.init) == field.value : !unsigned.contains(name)
            })
    }

    // MARK: The digest

    private static func sha256(_ bytes: some ContiguousBytes) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        bytes.withUnsafeBytes { curlew_sha256($0.baseAddress, $0.count, &digest) }
        return digest
    }
}
