internal import CurlewCore

extension StandardRoutes {
    /// Statuses, delays and custom header fields.
    static let status: [Entry] = [
        Entry("/status/{code}", nil) { request in
            guard let code = request.number("code"), (100...999).contains(code) else {
                return .text("not a status\n", status: 400)
            }
            switch code {
            case 300...303, 305, 307, 308: return .redirect(to: request.base + request.echoPath, status: code)
            case 200...203, 206...299: return .json(JSONValue.echo(request), status: code)
            case 401: return .status(401, headers: ["WWW-Authenticate": "Basic realm=\"Fake Realm\""])
            case 407: return .status(407, headers: ["Proxy-Authenticate": "Basic realm=\"Fake Realm\""])
            // A client waits for a final response, so an interim status precedes a 200.
            case 100..<200:
                return .status(200).changed { $0.interim = [TestServer.Response.Interim(status: code)] }
            default: return .status(code)
            }
        },
        Entry("/delay/{seconds}", nil) { request in
            guard let delay = try request.seconds("seconds") else { return .text("not a delay\n", status: 400) }
            return .json(.echo(request)).delayed(by: delay)
        },
        Entry("/response-headers", ["GET", "POST"]) { request in
            // Like httpbin, the fields are also in the body.
            var response = TestServer.Response.json(JSONValue.merged(request.query.map { ($0.name, $0.value) }))
            for pair in request.query {
                let field = HTTPHeader(name: pair.name, value: pair.value)
                guard field.isValid else { return .text("not a header field\n", status: 400) }
                if ASCII.equalsIgnoringCase(field.name, "Content-Type") {
                    response.headers.add(field)
                } else {
                    response.headers.append(field)
                }
            }
            return response
        },
        Entry("/hang", nil) { _ in .hanging },
    ]
}

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
