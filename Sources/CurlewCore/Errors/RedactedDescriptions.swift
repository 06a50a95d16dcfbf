internal import Foundation

// What values that hold secrets print of themselves. Without this, Swift would print every stored property.

extension TransferAuthentication: CustomStringConvertible, CustomReflectable {
    /// The scheme; nothing of the credentials.
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
    /// The kind and, where it lies in files, the certificate's; never a key or a passphrase.
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
    /// The name and where it is sent; not the value.
    public var description: String { "\(name)=\(Redaction.mark); domain=\(domain); path=\(path)" }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPHeader: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension RedirectHop: CustomStringConvertible, CustomReflectable {
    /// From where to where, without secrets.
    public var description: String {
        "\(status) \(Redaction.redacted(url).absoluteString) → \(Redaction.redacted(location).absoluteString)"
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TransferRequest: CustomStringConvertible, CustomReflectable {
    /// Method and URL without secrets.
    public var description: String { "\(method.rawValue) \(Redaction.redacted(url).absoluteString)" }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension DNSConfiguration: CustomStringConvertible {
    /// Every setting; the DoH server's URL without credentials.
    public var description: String {
        var parts = [
            "overrides \(overrides.keys.sorted())", "servers \(servers)", "cache \(cacheLifetime)", "\(ipVersion)",
        ]
        if let dohURL { parts.append("DoH \(Redaction.redacted(dohURL).absoluteString)") }
        if let happyEyeballsDelay { parts.append("happy eyeballs \(happyEyeballsDelay)") }
        return parts.joined(separator: ", ")
    }
}

extension DNSConfiguration: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: []) }
}
