import CurlewCore
import Foundation
import Testing

@Suite struct StorabilityTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let isPrivate: Bool
        let isShared: Bool
        let status: Int
        let fields: [(String, String)]
        let request: [(String, String)]
        let method: HTTPMethod
        var testDescription: String { "\(method.rawValue) \(request) → \(status) \(fields)" }

        init(
            _ isPrivate: Bool,
            _ isShared: Bool,
            _ fields: [(String, String)],
            status: Int = 200,
            request: [(String, String)] = [],
            method: HTTPMethod = .get
        ) {
            (self.isPrivate, self.isShared, self.status) = (isPrivate, isShared, status)
            (self.fields, self.request, self.method) = (fields, request, method)
        }
    }

    private static let fresh = ("Cache-Control", "max-age=60")
    private static let credentials = [("Authorization", "Bearer x")]

    static let table: [Case] = [
        Case(true, true, [fresh]),
        Case(true, true, [fresh], status: 404),
        Case(true, true, [fresh], status: 599),
        Case(true, true, [("Expires", "0")]),
        Case(true, true, [("ETag", "\"a\"")]),
        Case(true, true, [("Cache-Control", "no-cache")]),
        Case(true, true, [], status: 301),
        Case(false, false, [("X", "y")]),
        Case(false, false, [("ETag", "\"a\"")], status: 201),
        Case(true, true, [("ETag", "\"a\""), ("Cache-Control", "public")], status: 201),
        Case(false, false, [fresh], status: 206),
        Case(false, false, [fresh], status: 304),
        Case(false, false, [fresh], status: 101),
        Case(false, false, [("Cache-Control", "max-age=60, no-store")]),
        Case(true, true, [("Cache-Control", "max-age=60, no-store, must-understand")]),
        Case(false, false, [("Cache-Control", "max-age=60, must-understand")], status: 299),
        Case(true, false, [("Cache-Control", "private, max-age=60")]),
        Case(true, true, [("Cache-Control", "private=\"x\", max-age=60")]),
        Case(false, true, [("Cache-Control", "s-maxage=60")], status: 302),
        Case(false, false, [fresh, ("Vary", "*")]),
        Case(false, false, [fresh, ("Vary", "a, *")]),
        Case(true, true, [fresh, ("Vary", "a")]),
        Case(false, false, [fresh], method: .post),
        Case(false, false, [fresh], method: .head),
        Case(false, false, [fresh], request: [("Cache-Control", "no-store")]),
        Case(false, false, [fresh], request: [("If-Match", "\"a\"")]),
        Case(true, false, [fresh], request: credentials),
        Case(true, true, [("Cache-Control", "max-age=60, public")], request: credentials),
        Case(true, true, [("Cache-Control", "max-age=60, must-revalidate")], request: credentials),
        Case(true, true, [("Cache-Control", "s-maxage=60")], request: credentials),
    ]

    /// A directive that names fields does not hide one that concerns the whole response.
    static let qualified: [Case] = [
        Case(true, false, [("Cache-Control", "private=\"x\", private, max-age=60")]),
        Case(true, false, [("Cache-Control", "private, private=\"x\", max-age=60")]),
        Case(true, false, [("Cache-Control", "private=\"x\""), ("Cache-Control", "private, max-age=60")]),
        Case(true, false, [("Cache-Control", "private=\", \", max-age=60")]),
        Case(true, true, [("Cache-Control", "private=\"x\", private=\"y\", max-age=60")]),
    ]

    private static let range = [("Range", "bytes=2-3")]

    /// Responses to range requests, and statuses that concern one request or one client.
    static let ofOneRequest: [Case] = [
        Case(true, true, [fresh], request: range),
        Case(false, false, [fresh], status: 206, request: range),
        Case(false, false, [fresh], status: 416, request: range),
        Case(false, false, [fresh], status: 404, request: range),
        Case(false, false, [], status: 301, request: range),
        Case(false, false, [fresh], status: 503, request: range),
        Case(false, false, [fresh], status: 428),
        Case(false, false, [fresh], status: 429),
        Case(false, false, [fresh], status: 431),
        Case(false, false, [fresh], status: 511),
    ]

    private static let date = ("Date", dateField(0))
    private static let modified = ("Last-Modified", dateField(-1000))

    /// Server errors are stored only if they are fresh for some time.
    static let failures: [Case] = [
        Case(true, true, [fresh], status: 503),
        Case(true, false, [("Cache-Control", "private, max-age=60")], status: 500),
        Case(false, true, [("Cache-Control", "s-maxage=60")], status: 503),
        Case(true, true, [date, ("Expires", dateField(60))], status: 503),
        Case(false, false, [date, ("Expires", dateField(-60))], status: 503),
        Case(false, false, [("Expires", "0")], status: 503),
        Case(false, false, [("Cache-Control", "no-cache, private")], status: 503),
        Case(false, false, [("Cache-Control", "private")], status: 500),
        Case(false, false, [("Cache-Control", "public")], status: 503),
        Case(false, false, [("Cache-Control", "max-age=0")], status: 502),
        Case(false, false, [("Cache-Control", "max-age=60, no-cache")], status: 503),
        Case(false, false, [("ETag", "\"a\"")], status: 501),
        Case(false, false, [date, modified], status: 503),
        // Heuristic freshness counts if the status or the server permits it.
        Case(true, true, [date, modified], status: 501),
        Case(true, true, [date, modified, ("Cache-Control", "public")], status: 599),
    ]

    static let all: [Case] = [table, qualified, ofOneRequest, failures].flatMap { $0 }

    @Test(arguments: all) func requestAndResponseDecideStorability(_ item: Case) {
        let head = ResponseHead(status: item.status, headers: receivedFields(item.fields))
        let request = cacheRequest(item.request, method: item.method)
        #expect(Storability.isStorable(head, for: request, mode: .private) == item.isPrivate)
        #expect(Storability.isStorable(head, for: request, mode: .shared) == item.isShared)
    }

    @Test func fieldsOfOneExchangeAreNotStored() {
        let head = ResponseHead(
            status: 200,
            headers: receivedFields([
                ("Cache-Control", "no-cache=\"A, b\", private=\"c\""), ("a", "1"), ("B", "2"), ("C", "3"), ("d", "4"),
                ("Connection", "X-Hop, close"), ("x-hop", "1"), ("Keep-Alive", "1"), ("Set-Cookie", "a=b"),
                ("Transfer-Encoding", "chunked"), ("D", "5"),
            ])
        )
        let ofOneUser = Storability.stored(head, mode: .private).headers.map(\.name)
        #expect(ofOneUser == ["Cache-Control", "C", "d", "D"])
        #expect(Storability.stored(head, mode: .shared).headers.map(\.name) == ["Cache-Control", "d", "D"])
    }

    @Test func fieldsNamedByDirectivesAreNotStored() {
        let head = ResponseHead(
            status: 200,
            headers: receivedFields([
                ("Cache-Control", "private=\"A\", no-cache=\"b\""), ("Cache-Control", "no-cache=C, private=\"d, e\""),
                ("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5"), ("f", "6"),
            ])
        )
        let ofOneUser = Storability.stored(head, mode: .private).headers.map(\.name)
        #expect(ofOneUser == ["Cache-Control", "Cache-Control", "a", "d", "e", "f"])
        let shared = Storability.stored(head, mode: .shared).headers.map(\.name)
        #expect(shared == ["Cache-Control", "Cache-Control", "f"])
    }
}
