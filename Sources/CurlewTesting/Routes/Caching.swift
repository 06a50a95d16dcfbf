internal import CurlewCore
internal import Foundation

extension StandardRoutes {
    /// Validators and lifetimes.
    static let caching: [Entry] = [
        Entry("/cache") { request in
            // Like httpbin, any conditional request gets 304.
            let isConditional =
                request.headers.contains(name: "If-None-Match") || request.headers.contains(name: "If-Modified-Since")
            var response = TestServer.Response.json(JSONText.echo(request))
            if isConditional { response = .status(304) }
            return response.header("ETag", "\"cache\"").header("Last-Modified", lastModified)
        },
        Entry("/cache/{seconds}") { request in
            .json(JSONText.echo(request)).header("Cache-Control", "public, max-age=\(request.number("seconds") ?? 0)")
        },
        Entry("/etag/{etag}", nil) { request in
            let tag = "\"\(request.parameters["etag"] ?? "")\""
            if request.headers.contains(name: "If-Match"), !request.lists("If-Match", tag) {
                return .status(412).header("ETag", tag)
            }
            if request.lists("If-None-Match", tag) {
                let isReading = request.method == "GET" || request.method == "HEAD"
                return .status(isReading ? 304 : 412).header("ETag", tag)
            }
            return .json(JSONText.echo(request)).header("ETag", tag)
        },
    ]
}
