internal import Foundation

// Descriptions and mirrors of values that contain secrets. Without them, Swift would print every stored property.

extension TransferAuthentication: CustomStringConvertible, CustomReflectable {
    /// The scheme, without the credentials.
    public var description: String { "\(scheme) \(Redaction.replacement)" }

    public var customMirror: Mirror { Mirror(self, children: ["scheme": scheme]) }
}

extension Proxy: CustomStringConvertible, CustomReflectable {
    /// The proxy's URL without credentials.
    public var description: String {
        switch self {
        case .environment: "environment"
        case .none: "none"
        case .url(let url, _, _, let exclusions):
            Redaction.redacted(url).absoluteString
                + (exclusions.isEmpty ? "" : " except \(exclusions.joined(separator: ","))")
        }
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension ClientIdentity: CustomStringConvertible, CustomReflectable {
    /// The kind of identity; for files, the path of the certificate. Never a key or a passphrase.
    public var description: String {
        switch self {
        case .pem: "PEM"
        case .files(let certificate, _, _): certificate.path(percentEncoded: false)
        case .pkcs12: "PKCS#12"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
    /// The name, domain and path, without the value.
    public var description: String { "\(name)=\(Redaction.mark); domain=\(domain); path=\(path)" }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPHeader: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension RedirectHop: CustomStringConvertible, CustomReflectable {
    /// The status and both URLs, without secrets.
    public var description: String {
        "\(status) \(Redaction.redacted(url).absoluteString) → \(Redaction.redacted(location).absoluteString)"
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TransferRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the URL, without secrets.
    public var description: String { "\(method.rawValue) \(Redaction.redacted(url).absoluteString)" }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension DNSConfiguration: CustomStringConvertible {
    /// Every setting, with the URL of the DNS-over-HTTPS server without credentials.
    public var description: String {
        var parts = [
            "overrides \(overrides.keys.sorted())", "servers \(servers)", "cache \(cacheLifetime)", "\(ipVersion)",
        ]
        if let dohURL { parts.append("DoH \(Redaction.redacted(dohURL).absoluteString)") }
        if ownResolver != nil { parts.append("own resolver") }
        if let happyEyeballsDelay { parts.append("happy eyeballs \(happyEyeballsDelay)") }
        return parts.joined(separator: ", ")
    }
}

extension DNSConfiguration: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: []) }
}
