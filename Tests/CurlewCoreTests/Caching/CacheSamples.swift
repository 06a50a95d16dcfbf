import CurlewCore
import Foundation

/// The time at which the stored responses of these tests arrived.
let cacheTestTime = Date(timeIntervalSince1970: 1_800_000_000)

/// Returns a response that arrived at `cacheTestTime`, without a delay.
func stored(_ fields: [(String, String)], status: Int = 200, decoded: Bool = true) -> StoredResponse {
    StoredResponse(
        head: ResponseHead(status: status, headers: receivedFields(fields)),
        requestTime: cacheTestTime,
        responseTime: cacheTestTime,
        isContentDecoded: decoded
    )
}

func receivedFields(_ fields: [(String, String)]) -> HTTPHeaders {
    HTTPHeaders(received: fields.map { HTTPHeader(name: $0.0, value: $0.1) })
}

func cacheRequest(
    _ fields: [(String, String)] = [],
    method: HTTPMethod = .get,
    policy: CachePolicy = .useProtocol,
    decodes: Bool = true
) -> CacheRequest {
    CacheRequest(
        url: URL(string: "https://example.org/a")!,
        method: method,
        headers: receivedFields(fields),
        policy: policy,
        decodesContent: decodes
    )
}

/// Returns an entry with a body of ten bytes.
func storedEntry(
    _ response: StoredResponse,
    for request: CacheRequest = cacheRequest(),
    id: String = "0"
) -> StoredEntry {
    let fields = Variants.fields(of: response.head.headers) ?? []
    let entry = CacheEntry(
        id: id,
        key: request.key,
        variant: Variants.name(of: request.headers, varyingBy: fields) { $0 },
        varyingFields: fields,
        response: response,
        lifetime: Freshness(response, mode: .private).cacheLifetime(canBeValidated: false)
    )
    return StoredEntry(entry: entry, body: DataCacheBody(Data("0123456789".utf8)))
}

/// Returns the HTTP date `seconds` after `cacheTestTime`.
func dateField(_ seconds: TimeInterval) -> String {
    HTTPDate.string(from: cacheTestTime.addingTimeInterval(seconds))
}
