import Testing

@testable import CurlewTool

@Suite("Request items")
struct RequestItemTests {
    static let rows: [(word: String, kind: RequestItem.Kind, key: String, value: String)] = [
        ("a=b", .text, "a", "b"), ("a=", .text, "a", ""), ("=b", .text, "", "b"), ("a=b=c", .text, "a", "b=c"),
        ("a=b:c", .text, "a", "b:c"), ("a==b", .query, "a", "b"), ("a==", .query, "a", ""),
        ("a===b", .query, "a", "=b"),
        ("a:=1", .json, "a", "1"), ("a:=[1, 2]", .json, "a", "[1, 2]"), ("a:=@f", .jsonFile, "a", "f"),
        ("a=@f", .textFile, "a", "f"), ("a==@f", .queryFile, "a", "f"), ("a:@f", .headerFile, "a", "f"),
        ("a:b", .header, "a", "b"), ("a:", .header, "a", ""), ("a: b c", .header, "a", " b c"),
        ("X-Time:10:30", .header, "X-Time", "10:30"), ("a;", .emptyHeader, "a", ""), ("a@b", .file, "a", "b"),
        ("a@b;type=text/plain", .file, "a", "b;type=text/plain"), ("@b", .file, "", "b"),
        ("a\\:b=c", .text, "a:b", "c"), ("a\\=b=c", .text, "a=b", "c"), ("a\\@b:c", .header, "a@b", "c"),
        ("a=b\\=c", .text, "a", "b=c"), ("a\\b=c", .text, "a\\b", "c"),
        ("a\\\\=c", .text, "a\\\\", "c"), ("a=b\\", .text, "a", "b\\"),
        ("a[b]=c", .text, "a[b]", "c"), ("a\\[b\\]=c", .text, "a\\[b\\]", "c"), ("é=ü", .text, "é", "ü"),
        ("a=👩‍👩‍👧", .text, "a", "👩‍👩‍👧"),
    ]

    @Test(arguments: rows.indices)
    func readsItems(_ index: Int) throws {
        let row = Self.rows[index]
        let item = try RequestItem(parsing: row.word)
        #expect(item.kind == row.kind, "\(row.word)")
        #expect(item.key == row.key, "\(row.word)")
        #expect(item.value == row.value, "\(row.word)")
    }

    @Test(arguments: ["", "abc", "a\\=b", "a;b", "/path"])
    func itemWithoutSeparatorIsRefused(_ word: String) {
        #expect(throws: UsageError.self) { try RequestItem(parsing: word) }
    }

    @Test(
        arguments: [
            ("f", "f", nil), ("f;type=a/b", "f", "a/b"), ("f;type=", "f;type=", nil),
            ("a;type=b;type=c/d", "a;type=b", "c/d"),
        ] as [(String, String, String?)])
    func readsFiles(_ value: String, _ path: String, _ type: String?) {
        let file = ItemFile(parsing: value)
        #expect(file.path == path)
        #expect(file.mediaType == type)
    }
}

@Suite("Nested keys")
struct NestedKeyTests {
    static let documents: [(items: [(String, String)], json: String)] = [
        ([], "{}"),
        ([("a", "1")], #"{"a": 1}"#),
        ([("a", "1"), ("a", "2")], #"{"a": 2}"#),
        ([("b", "1"), ("a", "2"), ("b", "3")], #"{"b": 3, "a": 2}"#),
        ([("a[b]", "1"), ("a[c]", "2")], #"{"a": {"b": 1, "c": 2}}"#),
        ([("a[b][]", "1"), ("a[b][]", "2")], #"{"a": {"b": [1, 2]}}"#),
        ([("a[1][x]", "3")], #"{"a": [null, {"x": 3}]}"#),
        ([("a[1][2]", "1")], #"{"a": [null, [null, null, 1]]}"#),
        ([("[]", "1"), ("[]", "2")], "[1, 2]"),
        ([("[1]", "1"), ("[0]", "2")], "[2, 1]"),
        ([("[][a]", "1"), ("[][a]", "2")], #"[{"a": 1}, {"a": 2}]"#),
        ([("a[b][c]", "1"), ("a[b]", "2")], #"{"a": {"b": 2}}"#),
        ([(#"a\[b\]"#, "1")], #"{"a[b]": 1}"#),
        ([(#"a[\1]"#, "1")], #"{"a": {"1": 1}}"#),
        ([(#"a[b\\c]"#, "1")], #"{"a": {"b\\c": 1}}"#),
        ([("a[1.5]", "1")], #"{"a": {"1.5": 1}}"#),
        ([("a[1b]", "1")], #"{"a": {"1b": 1}}"#),
        ([("5", "1")], #"{"5": 1}"#),
        ([("", "1")], #"{"": 1}"#),
        ([("[a]", "1")], #"{"a": 1}"#),
        ([("a", "null"), ("a[b]", "1")], #"{"a": {"b": 1}}"#),
        ([("a", #"{"z": 1.10, "b": 2}"#), ("a[c]", "3")], #"{"a": {"z": 1.10, "b": 2, "c": 3}}"#),
        ([("a b[c d]", "1")], #"{"a b": {"c d": 1}}"#),
    ]

    @Test(arguments: documents.indices)
    func buildsDocuments(_ index: Int) throws {
        let row = Self.documents[index]
        let members = try row.items.map { (key: $0.0, value: try JSONParser.parse($0.1)) }
        #expect(JSONWriter.compact(try NestedJSON.build(members)) == row.json)
    }

    static let failures: [(items: [(String, String)], text: String)] = [
        ([("foo[bar", "1")], "Syntax error: Expecting ']'\nfoo[bar\n       ^"),
        ([("名前[bar", "1")], "Syntax error: Expecting ']'\n名前[bar\n        ^"),
        ([("a[]b", "1")], "Syntax error: Expecting '['\na[]b\n   ^"),
        ([("a]", "1")], "Syntax error: Expecting '['\na]\n ^"),
        ([("a[[]", "1")], "Syntax error: Expecting a text, a number or ']'\na[[]\n  ^"),
        ([("a[", "1")], "Syntax error: Expecting a text, a number or ']'\na[\n  ^"),
        ([("a[-1]", "1")], "Value error: Negative indexes are not supported.\na[-1]\n  ^^"),
        ([("a[10000]", "1")], "Value error: Indexes above 9999 are not supported.\na[10000]\n  ^^^^^"),
        (
            [("foo", "\"1\""), ("foo[a]", "2")],
            "Type error: Cannot perform 'key' based access on 'foo' which has a type of 'string' but this operation "
                + "requires a type of 'object'.\nfoo[a]\n   ^^^"
        ),
        (
            [("a[0]", "1"), ("a[k]", "2")],
            "Type error: Cannot perform 'key' based access on 'a' which has a type of 'array' but this operation "
                + "requires a type of 'object'.\na[k]\n ^^^"
        ),
        (
            [("a[b]", "1"), ("a[0]", "2")],
            "Type error: Cannot perform 'index' based access on 'a' which has a type of 'object' but this operation "
                + "requires a type of 'array'.\na[0]\n ^^^"
        ),
        (
            [("a", "1"), ("a[]", "2")],
            "Type error: Cannot perform 'append' based access on 'a' which has a type of 'number' but this operation "
                + "requires a type of 'array'.\na[]\n ^^"
        ),
        (
            [("[0][a]", "1"), ("b", "2")],
            "Type error: Cannot perform 'key' based access on '' which has a type of 'array' but this operation "
                + "requires a type of 'object'.\nb\n^"
        ),
    ]

    @Test(arguments: failures.indices)
    func nestedKeyErrorExplainsTheMistake(_ index: Int) throws {
        let row = Self.failures[index]
        let members = try row.items.map { (key: $0.0, value: try JSONParser.parse($0.1)) }
        let error = #expect(throws: NestedKeyError.self) { try NestedJSON.build(members) }
        #expect(error?.description == row.text)
    }
}

@Suite("Deeply nested keys")
struct DeepKeyTests {
    @Test func tooDeeplyNestedKeysAreRefused() throws {
        func key(_ depth: Int) -> String { "a" + String(repeating: "[b]", count: depth - 1) }
        let deepest = try NestedJSON.build([(key(JSONParser.maximumDepth), .null)])
        #expect(JSONWriter.compact(deepest).utf8.count > JSONParser.maximumDepth)
        #expect(throws: NestedKeyError.self) { try NestedJSON.build([(key(JSONParser.maximumDepth + 1), .null)]) }
    }
}

@Suite("URLs as people type them")
struct TargetURLTests {
    @Test(
        "the error about a mistyped URL suggests a correction",
        arguments: [
            ("http:/localhost", "Did you mean 'http://localhost'?"), ("HTTPS:/x/y", "Did you mean 'https://x/y'?"),
            ("http:localhost", "Did you mean 'http://localhost'?"), ("http//x", "Did you mean 'http://x'?"),
            (":99999", "A port is a number from 1 to 65535."), ("x:65536/y", "A port is a number from 1 to 65535."),
            ("http://x:0", "A port is a number from 1 to 65535."),
            ("[::1]:99999", "A port is a number from 1 to 65535."),
            ("x:abc", "A port is a number from 1 to 65535."),
        ])
    func saysWhatIsWrong(_ typed: String, _ hint: String) throws {
        let error = try #require(throws: UsageError.self) { try TargetURL.resolve(typed) }
        #expect(error.hint == hint)
    }

    @Test(arguments: [
        ("http:8080", "http://http:8080/"), ("https/x", "http://https/x"), ("x:65535", "http://x:65535/"),
    ])
    func hostsNamedLikeSchemesAreAccepted(_ typed: String, _ expected: String) throws {
        #expect(try TargetURL.resolve(typed) == expected)
    }

    @Test(arguments: [
        ("example.org", "http://example.org/"), ("example.org/x", "http://example.org/x"),
        ("HTTPS://example.org/X", "https://example.org/X"), ("://example.org", "http://example.org/"),
        (":", "http://localhost/"), (":8080", "http://localhost:8080/"), (":8080/x?y", "http://localhost:8080/x?y"),
        (":/x", "http://localhost/x"), ("/x", "http://localhost/x"), ("localhost/x", "http://localhost/x"),
        ("localhost:3000", "http://localhost:3000/"), ("example.org?a=1", "http://example.org/?a=1"),
        ("example.org/a b", "http://example.org/a%20b"), ("example.org/ü?ä", "http://example.org/%C3%BC?%C3%A4"),
        ("example.org/a%20b", "http://example.org/a%20b"), ("x.y/a/../b", "http://x.y/b"),
        ("x.y/a/./b/..", "http://x.y/a/"),
        ("x.y/../../z", "http://x.y/z"), ("x.y/#f", "http://x.y/#f"), ("u:p@x.y/", "http://u:p@x.y/"),
        ("[::1]:80/x", "http://[::1]:80/x"), ("x.y/?a=/../b", "http://x.y/?a=/../b"),
        ("ws://:8080/x", "ws://localhost:8080/x"), ("https://:8443", "https://localhost:8443/"),
        ("://:8080/x", "http://localhost:8080/x"),
    ])
    func typedURLIsCompleted(_ typed: String, _ expected: String) throws {
        #expect(try TargetURL.resolve(typed) == expected)
    }

    @Test func addsTheQuery() throws {
        let query = [("q", "a b"), ("é&", "=ü/~")]
        let added = "q=a+b&%C3%A9%26=%3D%C3%BC%2F~"
        #expect(try TargetURL.resolve("x.y/p?b=1#f", query: query) == "http://x.y/p?b=1&\(added)#f")
        #expect(try TargetURL.resolve("x.y", query: query) == "http://x.y/?\(added)")
    }

    @Test func defaultSchemeAndKeptPathAreObeyed() throws {
        #expect(try TargetURL.resolve("x.y", defaultScheme: "https") == "https://x.y/")
        #expect(try TargetURL.resolve(":/x", defaultScheme: "https") == "https://localhost/x")
        #expect(try TargetURL.resolve("x.y/a/../b", keepsPath: true) == "http://x.y/a/../b")
    }

    @Test(arguments: ["", "ftp://x.y", "http://", "file:///etc/passwd", ":abc", "ws://:x", "ws:///x"])
    func invalidURLIsRefused(_ typed: String) {
        #expect(throws: UsageError.self) { try TargetURL.resolve(typed) }
    }

    @Test(arguments: [
        ("http://u:p@h:1/a?b#c", "http", "h:1", "/a?b", "h"), ("https://[::1]:8/", "https", "[::1]:8", "/", "::1"),
        ("http://h?x", "http", "h", "/?x", "h"), ("http://h", "http", "h", "/", "h"),
    ])
    func urlIsSplitIntoParts(_ url: String, _ scheme: String, _ authority: String, _ target: String, _ host: String) {
        let parts = URLParts(url)
        #expect(parts.scheme == scheme)
        #expect(parts.authority == authority)
        #expect(parts.target == target)
        #expect(parts.host == host)
    }
}
