extension PlanBuilder {
    static let jsonType = "application/json"
    private static let formType = "application/x-www-form-urlencoded; charset=utf-8"

    func plannedBody(_ invocation: Invocation) throws(UsageError) -> (body: PlannedBody, contentType: String?) {
        let data = invocation.items.filter(\.kind.isBody)
        // `@path` without a name is the body itself.
        if let item = data.first(where: { $0.kind == .file && $0.key.isEmpty }) {
            guard data.count == 1 else { throw UsageError("'\(item.original)' is the whole body: no other data items") }
            let file = ItemFile(parsing: item.value)
            let type = file.mediaType ?? MediaTypes.guess(path: file.path) ?? Self.jsonType
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
            throw UsageError("--compress does not go with files of a form")
        }
        let boundary = invocation.body.boundary ?? makeBoundary()
        return (.multipart(parts, boundary: boundary), "multipart/form-data; boundary=\(boundary)")
    }
}
