package import Foundation

/// The AWS Signature Version 4 of a canonical request. The caller passes the digest function, because this module has
/// none.
package struct SignatureV4 {
    /// Returns the SHA-256 of bytes.
    package typealias Hash = (_ bytes: [UInt8]) -> [UInt8]

    package let stringToSign: String
    /// The signature in hexadecimal digits.
    package let signature: String
    /// The value of the `Authorization` field.
    package let authorization: String

    /// Signs a request. `timestamp` has the form of `timestamp(of:)`; the first eight digits are the date of the key.
    package init(
        of request: CanonicalRequest,
        scope: SigningScope,
        timestamp: String,
        accessKey: String,
        secretKey: String,
        hash: Hash
    ) {
        let date = String(timestamp.prefix(8))
        let credentialScope = [date, scope.region, scope.service, scope.terminator]
        let scopeText = credentialScope.joined(separator: "/")
        stringToSign = [
            scope.algorithm, timestamp, scopeText, Checksum.hex(hash(Array(request.text.utf8))),
        ].joined(separator: "\n")
        var key = Array((scope.vendor.uppercased() + "4" + secretKey).utf8)
        for part in credentialScope { key = Self.hmac(key, Array(part.utf8), hash) }
        signature = Checksum.hex(Self.hmac(key, Array(stringToSign.utf8), hash))
        authorization =
            "\(scope.algorithm) Credential=\(accessKey)/\(scopeText), "
            + "SignedHeaders=\(request.signedFields), Signature=\(signature)"
    }

    /// Returns a date in the form `20150830T123600Z`.
    package static func timestamp(of date: Date) -> String {
        let parts = CivilDate(date)
        func padded(_ number: Int, _ width: Int = 2) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return padded(parts.year, 4) + padded(parts.month) + padded(parts.day) + "T" + padded(parts.hour)
            + padded(parts.minute) + padded(parts.second) + "Z"
    }

    package static func isTimestamp(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.count == 16 && bytes[8] == UInt8(ascii: "T") && bytes[15] == UInt8(ascii: "Z")
            && bytes.indices.allSatisfy { $0 == 8 || $0 == 15 || ASCII.isDigit(bytes[$0]) }
    }

    /// HMAC (RFC 2104) with SHA-256, whose blocks have 64 bytes.
    private static func hmac(_ key: [UInt8], _ message: [UInt8], _ hash: Hash) -> [UInt8] {
        var block = key.count > 64 ? hash(key) : key
        block += [UInt8](repeating: 0, count: 64 - block.count)
        return hash(block.map { $0 ^ 0x5C } + hash(block.map { $0 ^ 0x36 } + message))
    }
}

/// The service for which a request is signed: the parameter of CURLOPT_AWS_SIGV4(3), completed from the host.
///
///     aws:amz:eu-central-1:execute-api
package struct SigningScope: Equatable, Sendable {
    /// The prefix of the algorithm and of the key: `aws`.
    package let vendor: String
    /// The prefix of field names: `amz` in `x-amz-date`.
    package let fieldVendor: String
    package let region: String
    package let service: String

    /// Parses the parameter. Takes a missing service or region from the host, `service.region.domain`. `nil` if one of
    /// the four parts remains empty.
    package init?(_ parameter: String, host: String) {
        var parts = (parameter.isEmpty ? "aws:amz" : parameter).lowercased()
            .split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        vendor = parts[0]
        if parts.count == 1 { parts.append(vendor) }
        fieldVendor = parts[1]
        let written = parameter.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        let labels = host.lowercased().split(separator: ".").map(String.init)
        let named = (region: written.count > 2 ? written[2] : "", service: written.count > 3 ? written[3] : "")
        let service = named.service.isEmpty && labels.count > 2 ? labels[0] : named.service
        let region = named.region.isEmpty && labels.count > 2 ? labels[1] : named.region
        guard !vendor.isEmpty, !fieldVendor.isEmpty, !service.isEmpty, !region.isEmpty else { return nil }
        (self.region, self.service) = (region, service)
    }

    /// Whether the path is signed as it is. S3 uses the path of a request as the name of an object: it is not
    /// normalised, and it is encoded once. Every other service encodes the received path again.
    package var takesPathAsItIs: Bool {
        let name = service.lowercased()
        return vendor == "aws" && (name == "s3" || name == "s3express" || name.hasPrefix("s3-"))
    }

    package var algorithm: String { vendor.uppercased() + "4-HMAC-SHA256" }

    /// The last part of the credential scope, from which the key is derived.
    package var terminator: String { vendor + "4_request" }

    package var dateField: String { "x-\(fieldVendor)-date" }
    package var contentHashField: String { "x-\(fieldVendor)-content-sha256" }
}
