#if !FUZZING
@testable internal import CurlewCore
internal import Foundation
#else
import Foundation
#endif

extension FuzzTarget {
    static let authorizations = [
        FuzzTarget("oauth2-response") { input throws(BrokenProperty) in
            let (head, body) = input.headAndRest
            let url = URL(filePath: "/token")
            let read = Result { () throws(CurlewError) in
                try OAuth2Response(Data(body), status: Int(head) ?? 200, url: url, secrets: [secret])
            }
            switch read {
            case .success(let response): try checkGrants(of: response)
            case .failure(let error): try checkFailure(error)
            }
        },
        FuzzTarget("oauth2-redirect") { input throws(BrokenProperty) in
            let (head, rest) = input.headAndRest
            if let url = URL(string: input.text) {
                switch OAuth2Redirect(url, state: "s", issuer: nil) {
                case .foreign, .malformed: break
                case .code, .refused:
                    let items = URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems ?? []
                    let states = items.filter { $0.name == "state" }.map(\.value)
                    try require(states == ["s"], "a response belongs to a request by its state")
                }
            }
            // A response in a server's notation is read back unchanged, whatever the code and the state.
            let (state, code) = ("s" + head, "c" + String(decoding: rest, as: UTF8.self))
            let written = OAuth2Parameters(["code": code, "iss": "https://e.com", "state": state])
            guard let url = written.appended(to: URL(filePath: "/back")) else {
                throw BrokenProperty(description: "parameters can be written into a URL: \(written.text)")
            }
            guard case .code(let again) = OAuth2Redirect(url, state: state, issuer: "https://e.com") else {
                throw BrokenProperty(description: "a code is read as it was written: \(url)")
            }
            try require(again.isSameBytes(as: code), "with the same bytes")
            let other = OAuth2Redirect(url, state: state, issuer: "https://e.com/")
            try require(other, equals: .foreign(parameter: "iss"), "another issuer is refused")
        },
    ]

    /// A secret of the request, which no refusal may repeat.
    private static let secret = "S3CR3T"

    private static func checkGrants(of response: OAuth2Response) throws(BrokenProperty) {
        let now = Date(timeIntervalSince1970: 0)
        if let token = try? response.token(
            .deviceCode, replacing: nil, requested: nil, skew: .seconds(60), at: now)
        {
            try require(
                !token.accessToken.isEmpty && token.accessToken.utf8.allSatisfy { 0x21...0x7E ~= $0 },
                "a token fits into a header field")
            try require((token.expires == nil) == (token.refreshDate == nil), "a life has an end and a margin")
            if let expires = token.expires, let refresh = token.refreshDate {
                try require(now < refresh && refresh <= expires, "a new token is used before it is replaced")
                try require(expires.timeIntervalSince1970 < 4e9, "a life is bounded")
            }
        }
        if let login = try? response.deviceLogin(at: now, ContinuousClock.now) {
            try require(login.interval >= .seconds(1) && login.interval <= .seconds(1_000_000_000), "a pace is bounded")
            try require(!login.userCode.isEmpty && login.expires > now, "a login can be completed")
        }
    }

    private static func checkFailure(_ error: CurlewError) throws(BrokenProperty) {
        let refusal = error.oauth2Error
        try require(
            (refusal == nil) == (error.code == .decodingFailed || error.code == .unacceptableStatus),
            "a failure is a refusal or no response of the protocol: \(error.code)")
        let texts = [refusal?.code.rawValue, refusal?.details, refusal?.uri?.absoluteString].compactMap { $0 }
        try require(!texts.contains { $0.utf8.contains(secret.utf8) }, "no refusal repeats a secret")
    }
}
