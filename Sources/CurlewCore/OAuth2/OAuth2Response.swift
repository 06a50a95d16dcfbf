package import Foundation

/// What an authorization server has answered.
package enum OAuth2Answer<Value: Sendable>: Sendable {
    case granted(Value)
    case refused(OAuth2Error)
    /// The response is not one of the protocol: why.
    case malformed(String)
    /// The token is not one that this client can use: its type.
    case unknownType(String)

    /// Reads a response. `secrets` are left out of the server's explanations.
    package init(
        _ body: Data, status: Int, secrets: [String], _ read: (OAuth2Fields) throws(OAuth2Fields.Unusable) -> Value
    ) {
        guard let fields = OAuth2Fields(body) else {
            self = .malformed("the response with status \(status) is no JSON object")
            return
        }
        // Some servers refuse with status 200.
        if let refusal = fields.refusal(without: secrets) {
            self = .refused(refusal)
            return
        }
        guard (200..<300).contains(status) else {
            self = .malformed("the response with status \(status) has no member \"error\"")
            return
        }
        do throws(OAuth2Fields.Unusable) {
            self = .granted(try read(fields))
        } catch {
            switch error {
            case .member(let name): self = .malformed("the response has no usable member \"\(name)\"")
            case .type(let type): self = .unknownType(Redaction.excerpt(of: type, limit: 40))
            }
        }
    }
}

/// The members of a JSON object from an authorization server.
package struct OAuth2Fields {
    package enum Unusable: Error {
        case member(String)
        /// `token_type` is not Bearer.
        case type(String)
    }

    private let members: [String: any Sendable]

    package init?(_ body: Data) {
        guard let object = try? JSONSerialization.jsonObject(with: body) as? [String: Any] else { return nil }
        members = object.compactMapValues { value in
            switch value {
            case let text as String: text
            case let number as NSNumber: number.doubleValue
            default: nil
            }
        }
    }

    private func text(_ name: String) -> String? {
        guard let text = members[name] as? String, !text.isEmpty else { return nil }
        return text
    }

    /// A number of seconds. Some servers write it as a string. `nil` if it is not positive.
    private func seconds(_ name: String) -> Double? {
        let number = (members[name] as? Double) ?? (members[name] as? String).flatMap(Double.init)
        guard let number, number > 0, number.isFinite else { return nil }
        // A century; later dates are of no use.
        return min(number, 3_155_760_000)
    }

    fileprivate func refusal(without secrets: [String]) -> OAuth2Error? {
        guard let code = text("error") else { return nil }
        func clean(_ text: String) -> String {
            secrets.filter { !$0.isEmpty }.reduce(text) { $0.replacing($1, with: Redaction.replacement) }
        }
        return OAuth2Error(
            OAuth2Error.Code(rawValue: clean(code)), details: text("error_description").map(clean),
            uri: text("error_uri").flatMap { URL(string: clean($0)) })
    }

    /// The token of the response. `former` is the one that it replaces, and `requested` the scope that was asked for.
    package func token(
        _ grant: OAuth2Token.Grant, replacing former: OAuth2Token?, requested: String?, skew: Duration, at now: Date
    ) throws(Unusable) -> OAuth2Token {
        // RFC 6750, 2.1. Anything else would be another field than `Authorization: Bearer …`.
        guard let access = text("access_token"), access.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw .member("access_token")
        }
        // The member is required, but some servers leave it out.
        if let type = text("token_type"), !ASCII.equalsIgnoringCase(type, "Bearer") { throw .type(type) }
        // A token that has expired before it can be used would be replaced again and again: it is one without a life.
        let life = seconds("expires_in").flatMap { $0 < 1 ? nil : $0 }
        // A token that lives shorter than the margin would be replaced before each use.
        let margin = min(max(skew.inSeconds, 0), (life ?? 0) / 2)
        return OAuth2Token(
            accessToken: access,
            // A server that rotates refresh tokens sends the next one; otherwise the old one stays.
            refreshToken: text("refresh_token") ?? former?.refreshToken,
            expires: life.map { now.addingTimeInterval($0) },
            refreshDate: life.map { now.addingTimeInterval($0 - margin) },
            scope: text("scope") ?? former?.scope ?? requested,
            idToken: text("id_token") ?? former?.idToken,
            grant: former?.grant ?? grant
        )
    }

    /// The device login of the response.
    package func deviceLogin(at now: Date) throws(Unusable) -> OAuth2DeviceLogin {
        guard let deviceCode = text("device_code") else { throw .member("device_code") }
        guard let userCode = text("user_code") else { throw .member("user_code") }
        // The second name is of a draft, and still in use.
        guard let page = (text("verification_uri") ?? text("verification_url")).flatMap({ URL(string: $0) }) else {
            throw .member("verification_uri")
        }
        guard let life = seconds("expires_in") else { throw .member("expires_in") }
        return OAuth2DeviceLogin(
            userCode: userCode,
            verificationURL: page,
            completeVerificationURL: text("verification_uri_complete").flatMap { URL(string: $0) },
            expires: now.addingTimeInterval(life),
            deviceCode: deviceCode,
            interval: .bounded(seconds: max(seconds("interval") ?? 5, 1))
        )
    }
}

extension Duration {
    fileprivate var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

/// Base64 for URLs, without padding (RFC 4648, 5).
package enum Base64URL {
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
