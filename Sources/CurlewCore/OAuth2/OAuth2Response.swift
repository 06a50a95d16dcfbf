package import Foundation

/// A response with which an authorization server grants a request (RFC 6749, 5.1; RFC 8628, 3.2).
package struct OAuth2Response {
    private let members: [String: any Sendable]
    private let url: URL
    private let status: Int

    /// Reads a response. Throws if it is a refusal, or not one of the protocol. `secrets`, which are not empty, are
    /// left out of the server's explanations.
    ///
    /// Foundation's parser refuses JSON that is nested deeper than 512 levels.
    package init(_ body: Data, status: Int, url: URL, secrets: [String]) throws(CurlewError) {
        let object = (try? JSONSerialization.jsonObject(with: body)) as? [String: Any]
        members = (object ?? [:]).compactMapValues { value in
            switch value {
            case let text as String: text
            case let number as NSNumber: number.doubleValue
            default: nil
            }
        }
        (self.url, self.status) = (url, status)
        guard object != nil else { throw failed("the response with status \(status) is no JSON object") }
        // Some servers refuse with status 200.
        if let refusal = refusal(without: secrets) { throw .refused(refusal, url: url, status: status) }
        guard (200..<300).contains(status) else {
            throw failed("the response with status \(status) has no member \"error\"")
        }
    }

    /// Returns the token. `former` is the one that it replaces, and `requested` the scope that was asked for.
    package func token(
        _ grant: OAuth2Token.Grant, replacing former: OAuth2Token?, requested: String?, skew: Duration, at now: Date
    ) throws(CurlewError) -> OAuth2Token {
        // RFC 6750, 2.1. Other bytes could end the field `Authorization: Bearer …`.
        guard let access = text("access_token"), access.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw unusable("access_token")
        }
        // The member is required, but some servers leave it out.
        if let type = text("token_type"), !ASCII.equalsIgnoringCase(type, "Bearer") {
            throw .unsupported(
                feature: "tokens of the type \(Redaction.excerpt(of: type, limit: 40))",
                needs: "a server that issues Bearer tokens")
        }
        // A token that expires before it can be used would be replaced again and again: it counts as one without an
        // end.
        let life = seconds("expires_in").flatMap { $0 < 1 ? nil : $0 }
        // A token that lives shorter than the margin would be replaced before each use.
        let margin = min(max(skew / .seconds(1), 0), (life ?? 0) / 2)
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

    /// Returns the device login. `now` and `instant` are the same time.
    package func deviceLogin(
        at now: Date, _ instant: ContinuousClock.Instant
    ) throws(CurlewError) -> OAuth2DeviceLogin {
        guard let deviceCode = text("device_code") else { throw unusable("device_code") }
        guard let userCode = text("user_code") else { throw unusable("user_code") }
        // The second name is that of a draft, and still in use.
        guard let page = (text("verification_uri") ?? text("verification_url")).flatMap({ URL(string: $0) }) else {
            throw unusable("verification_uri")
        }
        guard let life = seconds("expires_in") else { throw unusable("expires_in") }
        return OAuth2DeviceLogin(
            userCode: userCode,
            verificationURL: page,
            completeVerificationURL: text("verification_uri_complete").flatMap { URL(string: $0) },
            expires: now.addingTimeInterval(life),
            deadline: instant + .bounded(seconds: life),
            deviceCode: deviceCode,
            interval: .bounded(seconds: max(seconds("interval") ?? 5, 1))
        )
    }

    // MARK: Members

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

    private func refusal(without secrets: [String]) -> OAuth2Error? {
        guard let name = text("error") else { return nil }
        // Compares bytes: in a String, a mark that combines with the last letter of a secret would hide the secret.
        func clean(_ text: String) -> String {
            let bytes = secrets.reduce(Array(text.utf8)) {
                $0.replacing(Array($1.utf8), with: Redaction.replacement.utf8)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        // A short secret, such as `grant`, may be part of a code, which then reveals nothing.
        let code = OAuth2Error.Code(rawValue: name)
        return OAuth2Error(
            code.isRegistered ? code : OAuth2Error.Code(rawValue: clean(name)),
            details: text("error_description").map(clean),
            uri: text("error_uri").flatMap { URL(string: clean($0)) })
    }

    // MARK: Errors

    private func unusable(_ member: String) -> CurlewError { failed("the response has no usable member \"\(member)\"") }

    private func failed(_ reason: String) -> CurlewError {
        let isAccepted = (200..<300).contains(status)
        return CurlewError(
            isAccepted ? .decodingFailed : .unacceptableStatus, phase: isAccepted ? .decoding : .validation,
            reason: "authorization server: \(reason)", url: url, responseCode: status)
    }
}

/// The response that a browser brings back from the authorization endpoint (RFC 6749, 4.1.2).
package enum OAuth2Redirect: Equatable {
    case code(String)
    case refused(OAuth2Error)
    /// The response belongs to another request, or is of another server, as this parameter shows: it may be forged
    /// (RFC 6749, 10.12; RFC 9207).
    case foreign(parameter: String)
    /// There is neither a code nor an error, or one of `state`, `iss`, `error` and `code` occurs twice or cannot be
    /// decoded.
    case malformed

    /// Reads the URL. With an `issuer`, the server must name itself.
    package init(_ url: URL, state: String, issuer: String?) {
        let query = RedirectQuery(url)
        // If one of these occurred twice, two readers of the URL could see different responses (RFC 6749, 3.1).
        guard ["state", "iss", "error", "code"].allSatisfy(query.isUnambiguous) else {
            self = .malformed
            return
        }
        guard query.hasValue(state, for: "state") else {
            self = .foreign(parameter: "state")
            return
        }
        if let issuer, !query.hasValue(issuer, for: "iss") {
            self = .foreign(parameter: "iss")
            return
        }
        if let code = query["error"] {
            self = .refused(
                OAuth2Error(
                    OAuth2Error.Code(rawValue: code), details: query["error_description"],
                    uri: query["error_uri"].flatMap { URL(string: $0) }))
        } else if let code = query["code"] {
            self = .code(code)
        } else {
            self = .malformed
        }
    }
}

/// The parameters in the query of a redirect, as a form writes them (RFC 6749, appendix B).
private struct RedirectQuery {
    /// A value is `nil` if it cannot be decoded.
    private let items: [(name: String, value: String?)]

    init(_ url: URL) {
        let encoded = URLComponents(url: url, resolvingAgainstBaseURL: true)?.percentEncodedQueryItems ?? []
        items = encoded.compactMap { item in
            Self.decoded(item.name).map { ($0, Self.decoded(item.value ?? "")) }
        }
    }

    /// The value of a parameter; `nil` if it is empty, occurs twice or cannot be decoded.
    subscript(_ name: String) -> String? {
        let found = items.filter { $0.name == name }
        guard found.count == 1, let value = found[0].value, !value.isEmpty else { return nil }
        return value
    }

    /// Whether the parameter does not occur, or occurs once with a value that can be decoded.
    func isUnambiguous(_ name: String) -> Bool {
        let found = items.filter { $0.name == name }
        return found.isEmpty || found.count == 1 && found[0].value != nil
    }

    /// Whether the parameter has this value. Compares bytes: strings that are canonically equivalent are equal.
    func hasValue(_ value: String, for name: String) -> Bool { self[name]?.utf8.elementsEqual(value.utf8) == true }

    private static func decoded(_ text: String) -> String? { text.replacing("+", with: " ").removingPercentEncoding }
}
