internal import Curlew
internal import CurlewCore
internal import Foundation
internal import Testing

@testable internal import CurlewTesting

/// Checks every step of AWS Signature Version 4, for the form with a header field and the form with a query.
@Suite("AWS signatures")
struct SignatureConformance {
    struct SignatureCase: CorpusCase {
        struct Signed: Decodable {
            let canonical_request: String
            let string_to_sign: String
            let signature: String
            let authorization: String?
            let signed_target: String?
        }
        struct Context: Decodable {
            let credentials: AuthenticationConformance.SignatureCase.Context.Credentials
            let region: String
            let service: String
            let timestamp: String
            let normalize: Bool
            let sign_body: Bool
            let omit_session_token: Bool?
        }
        let id: String
        let request: AuthenticationConformance.SignatureCase.Request
        let context: Context
        let header: Signed
        let query: Signed
        var group: String { context.normalize ? "normalized" : "not normalized" }
    }

    @Test("signatures in a header field are those of the published vectors")
    func headers() throws {
        try conform("auth-sigv4") { (item: SignatureCase) in
            var headers = HTTPHeaders(received: item.request.headers.map { HTTPHeader(name: $0[0], value: $0[1]) })
            headers.append(name: "X-Amz-Date", value: Self.timestamp(item))
            if let token = item.context.credentials.token, item.context.omit_session_token != true {
                headers.append(name: "X-Amz-Security-Token", value: token)
            }
            if item.context.sign_body {
                headers.append(name: "X-Amz-Content-Sha256", value: Digest.hex(.sha256, of: item.request.body) ?? "")
            }
            return Self.evaluate(item, item.header, target: item.request.target, headers)
        }
    }

    @Test("signatures in a query are those of the published vectors")
    func queries() throws {
        try conform("auth-sigv4") { (item: SignatureCase) in
            let headers = HTTPHeaders(received: item.request.headers.map { HTTPHeader(name: $0[0], value: $0[1]) })
            let target = (item.query.signed_target ?? "").components(separatedBy: "&X-Amz-Signature=")[0]
            return Self.evaluate(item, item.query, target: target, headers)
        }
    }

    private static func timestamp(_ item: SignatureCase) -> String {
        item.context.timestamp.filter { $0 != "-" && $0 != ":" }
    }

    private static func evaluate(
        _ item: SignatureCase,
        _ expected: SignatureCase.Signed,
        target: String,
        _ headers: HTTPHeaders
    ) -> Verdict {
        let whole = SignedURL("http://host" + target, takesPathAsItIs: false)
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let canonical = CanonicalRequest(
            method: item.request.method,
            path: item.context.normalize ? whole.path : parts[0],
            query: parts.count > 1 ? parts[1] : "",
            headers: headers,
            payloadHash: Digest.hex(.sha256, of: item.request.body) ?? "",
            takesPathAsItIs: false
        )
        guard
            let scope = SigningScope(
                "aws:amz:\(item.context.region):\(item.context.service)", host: "example.amazonaws.com")
        else { return .failed("no scope") }
        let signature = SignatureV4(
            of: canonical,
            scope: scope,
            timestamp: timestamp(item),
            accessKey: item.context.credentials.access_key_id,
            secretKey: item.context.credentials.secret_access_key,
            hash: { bytes in
                let digest = try? Digest(.sha256)
                bytes.withUnsafeBytes { digest?.update($0) }
                return digest?.finish() ?? []
            }
        )
        let steps = [canonical.text, signature.stringToSign, signature.signature]
        guard steps == [expected.canonical_request, expected.string_to_sign, expected.signature] else {
            return .failed("got \(steps)")
        }
        return expected.authorization.map { .compare(signature.authorization, $0) } ?? .passed
    }
}
