internal import CCurl
internal import CurlewCore
internal import Foundation

/// What a request must look like so that libcurl's signature (AWS Signature Version 4) is that of what is sent.
///
/// libcurl 7.88 signs fields and query in the order they are in, where the standard sorts them, names a field that
/// it was told to leave out, and knows only bodies that it has in memory.
enum SignedRequest {
    /// The URL with its query sorted by name and value, each with its equals sign.
    static func url(_ text: String) -> String {
        let whole = text.prefix { $0 != "#" }
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
