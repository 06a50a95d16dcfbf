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
