/// Builds the request plan of an invocation. Files are read through `read`, so tests need none.
struct PlanBuilder {
    /// Returns the whole content of a file.
    var read: (String) throws(UsageError) -> [UInt8]
    /// Whether a path is a pipe or device, which has no length and may be read only once.
    var isStream: (String) -> Bool = { _ in false }
    /// The piped input. `nil` if there is none, or if it is sent while it arrives.
    var standardInput: [UInt8]?
    var streamsStandardInput = false
    var userAgent: String
    /// Makes the boundary of a multipart body without `--boundary`.
    var makeBoundary: () -> String
    var storedHeaders: [HeaderField] = []

    func plan(_ invocation: Invocation, url typed: String? = nil) throws(UsageError) -> RequestPlan {
        let body = try plannedBody(invocation)
        let query = try queryItems(invocation)
        let url = try TargetURL.resolve(
            typed ?? invocation.urls.first ?? "",
            defaultScheme: invocation.network.defaultScheme,
            query: query,
            keepsPath: invocation.network.keepsPath
        )
        var plan = RequestPlan(
            method: invocation.method ?? (body.body.isEmpty ? "GET" : "POST"), url: url, headers: [], body: body.body)
        try setHeaders(of: &plan, invocation, contentType: body.contentType)
        return plan
    }

    // MARK: Headers

    private func setHeaders(
        of plan: inout RequestPlan,
        _ invocation: Invocation,
        contentType: String?
    ) throws(UsageError) {
        var fields = HeaderList()
        fields.set("User-Agent", userAgent)
        let wantsJSON = invocation.body.kind == .json || invocation.body.kind == nil && contentType == Self.jsonType
        fields.set("Accept", wantsJSON ? "application/json, */*;q=0.5" : "*/*")
        if let contentType { fields.set("Content-Type", contentType) }
        for field in storedHeaders { fields.set(field.name, field.value) }
        var isSet: Set<String> = []
        for item in invocation.items {
            let name = item.key.lowercased()
            let value: String
            switch item.kind {
            case .header where item.value.isEmpty:
                try checkRemoval(item, from: plan.body)
                fields.remove(item.key)
                plan.suppressedHeaders.insert(name)
                continue
            case .header, .emptyHeader: value = item.value
            // Read once per item: a pipe, such as that of `@<(command)`, gives its bytes to the first reader.
            case .headerFile: value = Self.trimmed(try text(of: item))
            case .query, .queryFile, .text, .textFile, .json, .jsonFile, .file: continue
            }
            try check(item, value)
            // The first item with a name replaces a default or stored field. Further ones are appended.
            if isSet.insert(name).inserted { fields.set(item.key, value) } else { fields.append(item.key, value) }
            plan.suppressedHeaders.remove(name)
        }
        plan.headers = fields.fields
    }

    private func check(_ item: RequestItem, _ value: String) throws(UsageError) {
        let isToken =
            !item.key.isEmpty
            && item.key.utf8.allSatisfy {
                $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 26 || "!#$%&'*+-.^_`|~".utf8.contains($0)
            }
        guard isToken else { throw UsageError("'\(item.original)': '\(item.key)' is not a header name") }
        guard value.utf8.allSatisfy({ $0 != 0 && $0 != 0x0A && $0 != 0x0D }) else {
            throw UsageError("'\(item.key)': a header value has no line breaks")
        }
    }

    /// Refuses to remove fields without which a server could not tell which host the request is for or where its body
    /// ends.
    private func checkRemoval(_ item: RequestItem, from body: PlannedBody) throws(UsageError) {
        let name = item.key.lowercased()
        var needed = ["host", "content-length", "transfer-encoding"]
        // The content type names the boundary.
        if case .multipart = body { needed.append("content-type") }
        guard needed.contains(name) else { return }
        throw UsageError(
            "'\(item.original)': a request cannot be sent without \(item.key)",
            hint: name == "host" ? "'Host:NAME' sends another name." : nil)
    }

    static func trimmed(_ text: String) -> String {
        var text = text[...]
        while let last = text.last, last.isNewline { text.removeLast() }
        return String(text)
    }

    // MARK: Query

    private func queryItems(_ invocation: Invocation) throws(UsageError) -> [(name: String, value: String)] {
        var query: [(name: String, value: String)] = []
        for item in invocation.items {
            switch item.kind {
            case .query: query.append((item.key, item.value))
            case .queryFile: query.append((item.key, Self.trimmed(try text(of: item))))
            case .header, .emptyHeader, .headerFile, .text, .textFile, .json, .jsonFile, .file: break
            }
        }
        return query
    }

    func text(of item: RequestItem) throws(UsageError) -> String {
        guard let text = String(validating: try read(item.value), as: UTF8.self) else {
            throw UsageError("'\(item.original)': \(item.value) is not UTF-8 text")
        }
        return text
    }
}

/// An ordered list of header fields with unique names.
struct HeaderList: Equatable, Sendable {
    private(set) var fields: [HeaderField] = []

    mutating func set(_ name: String, _ value: String) {
        if let index = index(of: name) {
            fields[index] = HeaderField(name, value)
        } else {
            fields.append(HeaderField(name, value))
        }
    }

    /// Appends a value to a field that may exist: after a comma (RFC 9110, 5.3), or after a semicolon for cookies.
    mutating func append(_ name: String, _ value: String) {
        guard let index = index(of: name) else { return set(name, value) }
        let joint = name.lowercased() == "cookie" ? "; " : ", "
        fields[index] = HeaderField(fields[index].name, fields[index].value + joint + value)
    }

    mutating func remove(_ name: String) { fields.removeAll { $0.name.lowercased() == name.lowercased() } }

    private func index(of name: String) -> Int? {
        fields.firstIndex { $0.name.lowercased() == name.lowercased() }
    }
}
