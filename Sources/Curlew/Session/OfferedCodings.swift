internal import CurlewCore

extension SessionConfiguration {
    /// The fields of every request. Where `Accept-Encoding` is the default one, it offers what `acceptedEncodings` names, or
    /// what the transport can undo.
    func fields(transportUndoes codings: [String]) -> HTTPHeaders {
        guard headers.value(for: "Accept-Encoding") == HTTPHeader.defaultAcceptEncoding.value else { return headers }
        var fields = headers
        let offer = acceptedEncodings?.joined(separator: ", ") ?? Self.preferred(codings).qualityEncoded()
        if offer.isEmpty { fields.remove(name: "Accept-Encoding") } else { fields.update(.acceptEncoding(offer)) }
        return fields
    }

    /// The order of Alamofire's field, and behind it what that does not have.
    private static func preferred(_ codings: [String]) -> [String] {
        let first = ["br", "gzip", "deflate"]
        return first.filter(codings.contains) + codings.filter { !first.contains($0) }
    }
}
