internal import CurlewCore

extension SessionConfiguration {
    /// Returns the fields of every request. A default `Accept-Encoding` is replaced by the codings in
    /// `acceptedEncodings`, or else by those that the transport supports.
    func fields(transportUndoes codings: [String]) -> HTTPHeaders {
        guard headers.value(for: "Accept-Encoding") == HTTPHeader.usualAcceptEncoding.value else { return headers }
        var fields = headers
        let offer = acceptedEncodings?.joined(separator: ", ") ?? Self.preferred(codings).qualityEncoded()
        if offer.isEmpty {
            fields.remove(name: "Accept-Encoding")
        } else {
            fields.add(name: "Accept-Encoding", value: offer)
        }
        return fields
    }

    /// Returns the codings in the order of Alamofire's field, followed by those that it does not have.
    private static func preferred(_ codings: [String]) -> [String] {
        let first = ["br", "gzip", "deflate"]
        return first.filter(codings.contains) + codings.filter { !first.contains($0) }
    }
}
