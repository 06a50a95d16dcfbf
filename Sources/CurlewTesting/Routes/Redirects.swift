internal import CurlewCore
internal import Foundation

extension StandardRoutes {
    /// Redirects. Except for `/redirect-to`, they end at `echoPath`.
    static let redirects: [Entry] = [
        Entry("/redirect/{count}", nil) { request in
            try hop(request, "redirect", isAbsolute: request.queryValue("absolute")?.lowercased() == "true")
        },
        Entry("/relative-redirect/{count}", nil) { try hop($0, "relative-redirect", isAbsolute: false) },
        Entry("/absolute-redirect/{count}", nil) { try hop($0, "absolute-redirect", isAbsolute: true) },
        Entry("/redirect-to", nil) { request in
            guard let url = request.queryValue("url"), url.isHTTPFieldValue else {
                return .text("url is missing\n", status: 400)
            }
            return .redirect(to: url, status: request.number("status_code") ?? request.number("statusCode") ?? 302)
        },
    ]

    private static func hop(
        _ request: TestServer.Request, _ name: String, isAbsolute: Bool
    ) throws(StandardRoutes.OutOfBounds) -> TestServer.Response {
        let count = try request.count("count")
        guard count > 0 else { return .text("not a count\n", status: 400) }
        let status = request.number("status_code") ?? 302
        let path = count == 1 ? request.echoPath : "/\(name)/\(count - 1)"
        let query = count == 1 ? "" : request.rawQuery.map { "?" + $0 } ?? ""
        return .redirect(to: (isAbsolute ? request.base : "") + path + query, status: status)
    }
}

extension TestServer.Request {
    /// The path that echoes the request's method; `/get` for methods without one.
    var echoPath: String {
        switch method {
        case "POST", "PUT", "PATCH", "DELETE", "HEAD": "/" + method.lowercased()
        default: "/get"
        }
    }

    /// The scheme and authority that the client used.
    var base: String { (isSecure ? "https://" : "http://") + (headers["Host"] ?? "127.0.0.1:\(serverPort)") }
}
