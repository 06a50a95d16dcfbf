internal import Curlew
internal import CurlewCore

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
        guard !item.key.isEmpty, item.key.utf8.allSatisfy(ASCII.isTokenByte) else {
            throw UsageError("'\(item.original)': '\(item.key)' is not a header name")
        }
        guard value.utf8.allSatisfy({ $0 != 0 && $0 != 0x0A && $0 != 0x0D }) else {
            throw UsageError("'\(item.key)': a header value has no line breaks")
        }
    }

    /// Refuses to remove the fields from which a server learns the host of the request and the end of its body.
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

extension PlanBuilder {
    private static let jsonType = "application/json"
    private static let formType = "application/x-www-form-urlencoded; charset=utf-8"

    private func plannedBody(_ invocation: Invocation) throws(UsageError) -> (body: PlannedBody, contentType: String?) {
        let data = invocation.items.filter(\.kind.isBody)
        // `@path` without a name is the body itself.
        if let item = data.first(where: { $0.kind == .file && $0.key.isEmpty }) {
            guard data.count == 1 else { throw UsageError("'\(item.original)' is the whole body: no other data items") }
            let file = ItemFile(parsing: item.value)
            let type = file.mediaType ?? MIMETypes.known(forPath: file.path) ?? Self.jsonType
            // A compressed body must be in memory. So must a file that can be read only once, because it may be shown,
            // sent, and sent again.
            if invocation.body.compression != .off || isStream(file.path) { return (.data(try read(file.path)), type) }
            return (.file(path: file.path), type)
        }
        if let raw = invocation.body.raw {
            return (.data(Array(raw.utf8)), contentTypeOfRawBody(invocation))
        }
        if data.isEmpty {
            if streamsStandardInput { return (.standardInput, contentTypeOfRawBody(invocation)) }
            if let standardInput { return (.data(standardInput), contentTypeOfRawBody(invocation)) }
            if invocation.body.kind == .multipart { return try multipart(data, invocation) }
            return (.none, nil)
        }
        let hasFiles = data.contains { $0.kind == .file }
        switch invocation.body.kind {
        case .multipart: return try multipart(data, invocation)
        case .form where hasFiles: return try multipart(data, invocation)
        case .form: return (.data(Array(try form(data).utf8)), Self.formType)
        case .json, nil:
            if let file = data.first(where: { $0.kind == .file }) {
                throw UsageError(
                    "'\(file.original)': a JSON body has no files",
                    hint: "Use --form for an upload, or '\(file.key)=@\(file.value)' for the file's text."
                )
            }
            return (.data(Array(JSONWriter.compact(try json(data)).utf8)), Self.jsonType)
        }
    }

    private func contentTypeOfRawBody(_ invocation: Invocation) -> String {
        switch invocation.body.kind {
        case .form: Self.formType
        case .json, .multipart, nil: Self.jsonType
        }
    }

    private func json(_ items: [RequestItem]) throws(UsageError) -> JSONValue {
        var members: [(key: String, value: JSONValue)] = []
        for item in items {
            switch item.kind {
            case .text: members.append((item.key, .string(item.value)))
            case .textFile: members.append((item.key, .string(try text(of: item))))
            case .json: members.append((item.key, try parsed(item.value, of: item)))
            case .jsonFile: members.append((item.key, try parsed(try text(of: item), of: item)))
            case .header, .emptyHeader, .headerFile, .query, .queryFile, .file: break
            }
        }
        do {
            return try NestedJSON.build(members)
        } catch {
            throw UsageError(error.description)
        }
    }

    private func parsed(_ text: String, of item: RequestItem) throws(UsageError) -> JSONValue {
        do {
            return try JSONParser.parse(text)
        } catch {
            throw UsageError(
                "'\(item.original)': not JSON: \(error.message) (at byte \(error.offset + 1))",
                hint: item.kind == .json ? "For a text write '\(item.key)=\(item.value)'." : nil
            )
        }
    }

    /// Returns the text of a form field. A JSON item gives its JSON, but a JSON string gives its text.
    private func fieldText(_ item: RequestItem) throws(UsageError) -> String {
        switch item.kind {
        case .textFile: return try text(of: item)
        case .json, .jsonFile:
            let value = try parsed(item.kind == .json ? item.value : try text(of: item), of: item)
            return value.text ?? JSONWriter.compact(value)
        case .header, .emptyHeader, .headerFile, .query, .queryFile, .text, .file: return item.value
        }
    }

    private func form(_ items: [RequestItem]) throws(UsageError) -> String {
        var pairs: [String] = []
        for item in items {
            pairs.append("\(TargetURL.formEncoded(item.key))=\(TargetURL.formEncoded(try fieldText(item)))")
        }
        return pairs.joined(separator: "&")
    }

    private func multipart(
        _ items: [RequestItem],
        _ invocation: Invocation
    ) throws(UsageError) -> (body: PlannedBody, contentType: String?) {
        var parts: [MultipartPart] = []
        for item in items {
            if item.kind == .file {
                let file = ItemFile(parsing: item.value)
                let content: MultipartPart.Content =
                    isStream(file.path)
                    ? .bytes(try read(file.path), path: file.path, mediaType: file.mediaType)
                    : .file(path: file.path, mediaType: file.mediaType)
                parts.append(MultipartPart(name: item.key, content: content))
            } else {
                parts.append(MultipartPart(name: item.key, content: .text(try fieldText(item))))
            }
        }
        guard !parts.isEmpty else { throw UsageError("--multipart needs at least one data item") }
        guard invocation.body.compression == .off else {
            throw UsageError("--compress cannot be combined with files of a form")
        }
        let boundary = invocation.body.boundary ?? makeBoundary()
        return (.multipart(parts, boundary: boundary), "multipart/form-data; boundary=\(boundary)")
    }
}
