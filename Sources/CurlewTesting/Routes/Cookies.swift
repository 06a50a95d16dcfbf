internal import CurlewCore
internal import Foundation

extension StandardRoutes {
    /// Routes that list, set and delete cookies.
    static let cookies: [Entry] = [
        Entry("/cookies", nil) { request in
            .json(.object([("cookies", .merged(request.cookies.map { ($0.name, $0.value) }))]))
        },
        Entry("/cookies/set") { request in
            setting(request.query.map { "\($0.name)=\($0.value); Path=/" })
        },
        Entry("/cookies/set/{name}/{value}") { request in
            setting(["\(request.parameters["name"] ?? "")=\(request.parameters["value"] ?? ""); Path=/"])
        },
        Entry("/cookies/delete") { request in
            setting(request.query.map { "\($0.name)=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0; Path=/" })
        },
    ]

    private static func setting(_ fields: [String]) -> TestServer.Response {
        var response = TestServer.Response.redirect(to: "/cookies")
        for field in fields {
            guard field.isHTTPFieldValue else { return .text("not a cookie\n", status: 400) }
            response.headers.append(name: "Set-Cookie", value: field)
        }
        return response
    }
}

extension TestServer.Request {
    /// The received cookies, in order.
    public var cookies: [TestServer.FormField] {
        headers.values(for: "Cookie").flatMap { $0.split(separator: ";") }.map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return TestServer.FormField(
                name: parts[0].trimmingCharacters(in: .whitespaces),
                value: parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
            )
        }
    }
}
