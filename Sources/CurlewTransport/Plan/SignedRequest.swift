internal import CCurl
internal import CurlewCore
internal import Foundation

/// What a request must look like so that libcurl's signature (AWS Signature Version 4) is that of what is sent.
///
/// libcurl 7.88 signs fields and query in the order they are in, where the standard sorts them, names a field that
/// it was told to leave out, and knows only bodies that it has in memory.
enum SignedRequest {
    /// The URL as it is signed and sent: its query sorted by name and value, each with its equals sign, and for the
    /// services of AWS but S3 with one slash where its path has several. Those services sign such a path, and to S3 each
    /// slash is part of a key.
    static func url(_ text: String, host: String, provider: String) -> String {
        var whole = text.prefix { $0 != "#" }
        if keepsOneSlash(host: host, provider: provider) { whole = withoutRepeatedSlashes(whole)[...] }
        guard let question = whole.firstIndex(of: "?") else { return String(whole) }
        let pairs = whole[question...].dropFirst().split(separator: "&").map { pair in
            pair.contains("=") ? String(pair) : pair + "="
        }
        let sorted = pairs.sorted { lhs, rhs in
            let (left, right) = (lhs.split(separator: "=", maxSplits: 1), rhs.split(separator: "=", maxSplits: 1))
            // By bytes: names first, so that `a=` stands before `a-b=`.
            let names = (Array((left.first ?? "").utf8), Array((right.first ?? "").utf8))
            guard names.0 == names.1 else { return names.0.lexicographicallyPrecedes(names.1) }
            return lhs.utf8.lexicographicallyPrecedes(rhs.utf8)
        }
        return whole[..<question] + (sorted.isEmpty ? "" : "?" + sorted.joined(separator: "&"))
    }

    /// As libcurl has it: `provider` is `provider1:provider2:region:service`, and a service that it does not name is the
    /// first label of the host.
    private static func keepsOneSlash(host: String, provider: String) -> Bool {
        let parts = provider.lowercased().split(separator: ":", omittingEmptySubsequences: false)
        guard parts.first == "aws" else { return false }
        let named = parts.count > 3 ? String(parts[3]) : ""
        let service = named.isEmpty ? host.lowercased().split(separator: ".").first.map(String.init) ?? "" : named
        return service != "s3" && !service.hasPrefix("s3-") && service != "s3express"
    }

    private static func withoutRepeatedSlashes(_ text: Substring) -> String {
        let end = text.firstIndex(of: "?") ?? text.endIndex
        guard let start = text[..<end].range(of: "://")?.upperBound, let path = text[start..<end].firstIndex(of: "/")
        else { return String(text) }
        var collapsed = ""
        for character in text[path..<end] where character != "/" || collapsed.last != "/" {
            collapsed.append(character)
        }
        return text[..<path] + collapsed + text[end...]
    }

    /// Fields of one name as one, with their values in order.
    static func headers(_ headers: HTTPHeaders) -> HTTPHeaders {
        var merged = HTTPHeaders()
        for field in headers {
            guard let earlier = merged.value(for: field.name) else {
                merged.append(field)
                continue
            }
            merged.update(name: field.name, value: earlier + "," + field.value)
        }
        return merged
    }

    /// A body in memory is shown to libcurl for its hash, and sent as an upload: with fields libcurl names a content
    /// type of its own.
    static func body(of request: TransferRequest, provider: String) throws(CurlewError) -> [OptionValue] {
        switch request.body {
        case .none: return []
        case .data(let data): return [.bytes(CURLOPT_COPYPOSTFIELDS, data)]
        case .file, .stream:
            // libcurl signs s3's bodies as unsigned by itself.
            guard request.effectiveHeaders.contains(name: "x-amz-content-sha256") || provider.hasSuffix(":s3") else {
                throw .unsupported(
                    feature: "signing a body that is streamed",
                    needs: "its hash in a field x-amz-content-sha256"
                )
            }
            return []
        }
    }
}
