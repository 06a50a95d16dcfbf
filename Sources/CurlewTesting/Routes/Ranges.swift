internal import CurlewCore
internal import Foundation

extension StandardRoutes {
    /// Bodies that support range requests.
    ///
    /// `/range/{n}` and `/download/{n}` have a strong ETag and a Last-Modified date, and support Range, If-Range,
    /// If-None-Match and If-Modified-Since. Up to 10 MB, `/download` is sent in ten portions with a pause in between;
    /// with `shouldProduceError=true`, the connection closes in the middle of the body.
    static let ranges: [Entry] = [
        Entry("/range/{count}") { try ranged($0, name: "range") },
        Entry("/download/{count}") { request in
            let count = try request.count("count", upTo: largestBody)
            var response = try ranged(request, name: "download")
            if request.queryValue("shouldProduceError") == "true" {
                response = response.faulting(.close, at: .inBody(after: Int64(count / 2)))
            }
            // Large bodies serve benchmarks, which pauses would distort.
            guard count <= 10_000_000 else { return response }
            return response.faulting(
                .dribble(bytes: max(1, count / 10), every: .milliseconds(1)),
                at: .inBody(after: 0)
            )
        },
    ]

    static let lastModified = "Sat, 01 Jan 2022 00:00:00 GMT"

    private static func ranged(
        _ request: TestServer.Request, name: String
    ) throws(StandardRoutes.OutOfBounds) -> TestServer.Response {
        let count = try request.count("count", upTo: largestBody)
        let seed = UInt64(clamping: request.number("seed") ?? 0)
        let tag = "\"\(name)\(count)-\(seed)\""
        var response = TestServer.Response(
            headers: ["Accept-Ranges": "bytes", "ETag": tag, "Last-Modified": lastModified]
        )
        response.sendRate = request.number("rate")
        if request.isFresh(tag) { return response.changed { $0.status = 304 } }
        response.headers.append(name: "Content-Type", value: "application/octet-stream")
        guard let field = request.headers["Range"], request.wantsRange(tag),
            let asked = AskedRange(field, size: Int64(count))
        else {
            return response.changed { $0.body = pattern(0, Int64(count), seed) }
        }
        guard case .satisfiable(let range) = asked else {
            response.headers.append(name: "Content-Range", value: "bytes */\(count)")
            return response.changed { $0.status = 416 }
        }
        response.headers.append(
            name: "Content-Range",
            value: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(count)"
        )
        return response.changed {
            $0.status = 206
            $0.body = pattern(range.lowerBound, range.upperBound, seed)
        }
    }

    private static func pattern(_ start: Int64, _ end: Int64, _ seed: UInt64) -> TestServer.Response.Body {
        .generated(length: end - start) { offset, most in
            TestServer.patternBytes(from: start + offset, count: most, seed: seed)
        }
    }
}

/// A Range field with one range. Several ranges and invalid fields are ignored.
enum AskedRange {
    case satisfiable(Range<Int64>)
    case unsatisfiable

    init?(_ field: String, size: Int64) {
        guard field.lowercased().hasPrefix("bytes=") else { return nil }
        let parts = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let (first, last) = (parts[0], parts[1])
        if first.isEmpty {
            guard let suffix = Int64(last), suffix >= 0 else { return nil }
            self = suffix == 0 || size == 0 ? .unsatisfiable : .satisfiable(max(0, size - suffix)..<size)
            return
        }
        guard let start = Int64(first), start >= 0 else { return nil }
        guard let end = last.isEmpty ? .max : Int64(last), end >= start else { return nil }
        self = start >= size ? .unsatisfiable : .satisfiable(start..<min(end, size - 1) + 1)
    }
}

extension TestServer.Request {
    /// Whether the client's copy is current, according to If-None-Match or, without it, If-Modified-Since.
    func isFresh(_ tag: String) -> Bool {
        if headers.contains(name: "If-None-Match") { return lists("If-None-Match", tag) }
        return headers["If-Modified-Since"] == StandardRoutes.lastModified
    }

    /// Whether a list field contains the entity tag or `*`.
    func lists(_ field: String, _ tag: String) -> Bool {
        (headers.combinedValue(for: field) ?? "").split(separator: ",").contains { item in
            let item = item.trimmingCharacters(in: .whitespaces)
            return item == "*" || item == tag || item == "W/" + tag
        }
    }

    /// Whether the range applies: If-Range is missing or matches.
    fileprivate func wantsRange(_ tag: String) -> Bool {
        guard let condition = headers["If-Range"] else { return true }
        return condition == tag || condition == StandardRoutes.lastModified
    }
}

extension StandardRoutes {
    /// Validators and lifetimes.
    static let caching: [Entry] = [
        Entry("/cache") { request in
            // Like httpbin, any conditional request gets 304.
            let isConditional =
                request.headers.contains(name: "If-None-Match") || request.headers.contains(name: "If-Modified-Since")
            var response = TestServer.Response.json(JSONValue.echo(request))
            if isConditional { response = .status(304) }
            return response.header("ETag", "\"cache\"").header("Last-Modified", lastModified)
        },
        Entry("/cache/{seconds}") { request in
            .json(JSONValue.echo(request)).header("Cache-Control", "public, max-age=\(request.number("seconds") ?? 0)")
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
            return .json(JSONValue.echo(request)).header("ETag", tag)
        },
    ]
}
