import CurlewCore
import Foundation
import Testing

@Suite("What of an entry may leave the process")
struct CacheEntryCredentialsTests {
    @Test("fields with secret names are left out, the others keep their order") func fields() {
        let names = [
            "Content-Type", "Set-Cookie", "ETag", "Authorization", "Vary", "X-Api-Key", "Authentication-Info", "Date",
            "X-Session-Token", "WWW-Authenticate", "Access-Control-Allow-Credentials",
        ]
        let fields = names.map { HTTPHeader(name: $0, value: "v") }
        let entry = CacheEntry(
            id: "id",
            key: CacheKey(url: "http://a.test/"),
            response: StoredResponse(
                head: ResponseHead(status: 200, headers: HTTPHeaders(received: fields)),
                requestTime: .distantPast,
                responseTime: .distantPast
            ),
            lifetime: CacheLifetime(freshUntil: .distantPast, usableUntil: .distantPast, canBeValidated: false)
        )
        let kept = entry.withoutCredentials
        #expect(
            kept.response.head.headers.map(\.name) == [
                "Content-Type", "ETag", "Vary", "Date", "WWW-Authenticate", "Access-Control-Allow-Credentials",
            ])
        #expect(kept.withoutCredentials == kept)
    }
}
