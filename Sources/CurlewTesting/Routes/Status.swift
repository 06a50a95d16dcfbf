internal import CurlewCore
internal import Foundation

extension StandardRoutes {
    /// Statuses, delays and custom header fields.
    static let status: [Entry] = [
        Entry("/status/{code}", nil) { request in
            guard let code = request.number("code"), (100...999).contains(code) else {
                return .text("not a status\n", status: 400)
            }
            switch code {
            case 300...303, 305, 307, 308: return .redirect(to: request.base + request.echoPath, status: code)
            case 200...203, 206...299: return .json(JSONText.echo(request), status: code)
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
            var response = TestServer.Response.json(JSONText.merged(request.query.map { ($0.name, $0.value) }))
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
