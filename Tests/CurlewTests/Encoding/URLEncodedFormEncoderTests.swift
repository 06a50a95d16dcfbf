import Curlew
import CurlewAlamofire
import Foundation
import Testing

@Suite(.timeLimit(.minutes(4)))
struct URLEncodedFormEncoderTests {
    private func text(_ value: any Encodable, _ encoder: URLEncodedFormEncoder = URLEncodedFormEncoder()) throws
        -> String
    {
        try encoder.encode(value)
    }

    static let leaves: [(any Encodable & Sendable, String)] = [
        (["a": "a"], "a=a"),
        (["a": Decimal(1)], "a=1"),
        (["a": Decimal(string: "1.123456")!], "a=1.123456"),
        (["a": 1.0], "a=1.0"),
        (["a": Float(1)], "a=1.0"),
        (["a": Int8(1)], "a=1"),
        (["a": Int16(1)], "a=1"),
        (["a": Int32(1)], "a=1"),
        (["a": Int64(1)], "a=1"),
        (["a": Int128(1)], "a=1"),
        (["a": UInt8(1)], "a=1"),
        (["a": UInt16(1)], "a=1"),
        (["a": UInt32(1)], "a=1"),
        (["a": UInt64.max], "a=18446744073709551615"),
        (["a": true], "a=1"),
        (["a": Data("data".utf8)], "a=ZGF0YQ%3D%3D"),
        (["a": URL(string: "https://example.com")!], "a=https%3A//example.com"),
        ([String: Int](), ""),
    ]

    @Test(arguments: leaves)
    func writesSingleValues(value: any Encodable & Sendable, expected: String) throws {
        #expect(try text(value) == expected)
    }

    @Test(
        arguments: [
            (.brackets, "a%5Bb%5D=b"), (.dots, "a.b=b"), (.init { "-\($0)" }, "a-b=b"),
        ] as [(URLEncodedFormEncoder.KeyPathEncoding, String)])
    func writesKeyPaths(paths: URLEncodedFormEncoder.KeyPathEncoding, expected: String) throws {
        #expect(try text(["a": ["b": "b"]], URLEncodedFormEncoder(keyPathEncoding: paths)) == expected)
    }

    @Test func writesStructs() throws {
        #expect(
            try text(Sample())
                == "five%5Ba%5D=a&four%5B%5D=1&four%5B%5D=2&four%5B%5D=3&one=one&seven%5Ba%5D=a&six%5Ba%5D%5Bb%5D=b"
                + "&three=1&two=2"
        )
    }

    @Test func keepsTheOrderOfEncodingIfAsked() throws {
        #expect(
            try text(Sample(), URLEncodedFormEncoder(alphabetizeKeyValuePairs: false))
                == "one=one&two=2&three=1&four%5B%5D=1&four%5B%5D=2&four%5B%5D=3&five%5Ba%5D=a&six%5Ba%5D%5Bb%5D=b"
                + "&seven%5Ba%5D=a"
        )
    }

    @Test func keepsTheOrderOfElements() throws {
        #expect(try text(["a": [3, 10, 2]]) == "a%5B%5D=3&a%5B%5D=10&a%5B%5D=2")
        let pairs = [["k": "b", "v": "1"], ["k": "a", "v": "2"]]
        #expect(
            try text(["a": pairs])
                == "a%5B%5D%5Bk%5D=b&a%5B%5D%5Bv%5D=1&a%5B%5D%5Bk%5D=a&a%5B%5D%5Bv%5D=2"
        )
    }

    /// Elements are sorted as encoded text: `a10=10` precedes `a1=1`, because `0` precedes `=`.
    @Test func sortsElementsWithKeysOfTheirOwn() throws {
        let encoder = URLEncodedFormEncoder(arrayEncoding: .custom { "\($0)\($1)" })
        #expect(try text(["a": Array(0...10)], encoder).hasPrefix("a0=0&a10=10&a1=1&a2=2"))
        #expect(try text(["a": [["y": 1], ["x": 2]]]) == "a%5B%5D%5Bx%5D=2&a%5B%5D%5By%5D=1")
    }

    @Test(
        arguments: [
            (.noBrackets, "array=1&array=2"),
            (.indexInBrackets, "array%5B0%5D=1&array%5B1%5D=2"),
            (.custom { "\($0).\($1 + 1)" }, "array.1=1&array.2=2"),
        ] as [(URLEncodedFormEncoder.ArrayEncoding, String)])
    func writesKeysOfArraysAsAsked(arrays: URLEncodedFormEncoder.ArrayEncoding, expected: String) throws {
        #expect(try text(["array": [1, 2]], URLEncodedFormEncoder(arrayEncoding: arrays)) == expected)
    }

    @Test func indexesObjectsInArrays() throws {
        struct Item: Encodable { let one = "one", two = 2, three = true }
        #expect(
            try text(["foo": [Item()]], URLEncodedFormEncoder(arrayEncoding: .indexInBrackets))
                == "foo%5B0%5D%5Bone%5D=one&foo%5B0%5D%5Bthree%5D=1&foo%5B0%5D%5Btwo%5D=2"
        )
    }

    @Test func writesManuallyNestedContainers() throws {
        #expect(
            try text(NestedByHand())
                == "root%5B%5D%5B%5D%5B%5D=1&root%5B%5D%5B%5D%5B%5D=2&root%5B%5D%5B%5D%5B%5D=3"
                + "&root%5B%5D%5B%5D=1&root%5B%5D%5B%5D=2&root%5B%5D%5B%5D=3"
                + "&root%5B%5D%5Ba%5D%5Bstring%5D=string"
        )
        #expect(
            try text(NestedByHand(), URLEncodedFormEncoder(arrayEncoding: .indexInBrackets))
                == "root%5B0%5D%5B0%5D=1&root%5B0%5D%5B1%5D=2&root%5B0%5D%5B2%5D=3"
                + "&root%5B1%5D%5Ba%5D%5Bstring%5D=string"
                + "&root%5B2%5D%5B0%5D%5B0%5D=1&root%5B2%5D%5B0%5D%5B1%5D=2&root%5B2%5D%5B0%5D%5B2%5D=3"
        )
    }

    @Test func writesSubclasses() throws {
        #expect(
            try text(Sub())
                == "five%5Ba%5D=a&five%5Bb%5D=b&four%5B%5D=1&four%5B%5D=2&four%5B%5D=3&one=one&three=1&two=2"
        )
        #expect(try text(SubByHand()) == "five%5Ba%5D=a&five%5Bb%5D=b&four%5Bfive%5D=2&four%5Bfour%5D=one")
        #expect(try text(SubInOnePlace()) == "four%5Bfive%5D=2&four%5Bfour%5D=one")
        #expect(try text(ParentAfterElements()) == "list%5B%5D%5Ba%5D=2&list%5B%5D=1")
    }

    @Test func keepsValuesThatSuperclassEncoded() throws {
        let text: String = try URLEncodedFormEncoder().encode(SharedContainersBelow())
        #expect(text == "list%5B%5D=1&list%5B%5D=2&object%5Bone%5D=1&object%5Btwo%5D=2")
    }

    @Test func lastValueEncodedForAKeyIsKept() throws {
        let text: String = try URLEncodedFormEncoder().encode(Repeated())
        #expect(text == "a%5Blast%5D=2")
    }

    @Test func writesBoolsLiterally() throws {
        #expect(try text(["bool": true], URLEncodedFormEncoder(boolEncoding: .literal)) == "bool=true")
    }

    static let date = Date(timeIntervalSinceReferenceDate: 123.456)

    @Test(
        arguments: [
            (.deferredToDate, "123.456"), (.secondsSince1970, "978307323.456"),
            (.millisecondsSince1970, "978307323456.0"),
            (.iso8601, "2001-01-01T00%3A02%3A03Z"), (.custom { "\($0.timeIntervalSinceReferenceDate)" }, "123.456"),
        ] as [(URLEncodedFormEncoder.DateEncoding, String)])
    func writesDates(dates: URLEncodedFormEncoder.DateEncoding, expected: String) throws {
        #expect(try text(["date": Self.date], URLEncodedFormEncoder(dateEncoding: dates)) == "date=" + expected)
    }

    @Test func writesDatesByAFormatter() throws {
        let formatter = DateFormatter()
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss.SSSS"
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.locale = Locale(identifier: "en_US_POSIX")
        #expect(
            try text(["date": Self.date], URLEncodedFormEncoder(dateEncoding: .formatted(formatter)))
                == "date=2001-01-01%2000%3A02%3A03.4560"
        )
    }

    @Test func writesData() throws {
        let data = Data("ab".utf8)
        #expect(
            try text(["data": data], URLEncodedFormEncoder(dataEncoding: .deferredToData))
                == "data%5B%5D=97&data%5B%5D=98"
        )
        #expect(try text(["data": data], URLEncodedFormEncoder(dataEncoding: .custom { "\($0.count)" })) == "data=2")
    }

    @Test(
        arguments: [
            (.useDefaultKeys, "oneTwoThree"), (.convertToSnakeCase, "one_two_three"),
            (.convertToKebabCase, "one-two-three"), (.capitalized, "OneTwoThree"), (.lowercased, "onetwothree"),
            (.uppercased, "ONETWOTHREE"), (.custom { _ in "A" }, "A"),
        ] as [(URLEncodedFormEncoder.KeyEncoding, String)])
    func changesKeys(keys: URLEncodedFormEncoder.KeyEncoding, expected: String) throws {
        #expect(try text(["oneTwoThree": "x"], URLEncodedFormEncoder(keyEncoding: keys)) == expected + "=x")
    }

    @Test(
        arguments: [
            (.dropKey, "", "one=one"), (.null, "a=null", "one=one&three=null&two=null"),
            (.dropValue, "a=", "one=one&three=&two="),
        ] as [(URLEncodedFormEncoder.NilEncoding, String, String)])
    func writesNil(nils: URLEncodedFormEncoder.NilEncoding, dictionary: String, synthesized: String) throws {
        struct Optionals: Encodable { let one = "one", two: String? = nil, three: Int? = nil }
        let encoder = URLEncodedFormEncoder(nilEncoding: nils)
        #expect(try text(["a": nil as String?], encoder) == dictionary)
        #expect(try text(Optionals(), encoder) == synthesized)
    }

    @Test func writesSpaces() throws {
        let value = ["spaces": "replace with spaces+"]
        #expect(try text(value) == "spaces=replace%20with%20spaces%2B")
        #expect(
            try text(value, URLEncodedFormEncoder(spaceEncoding: .plusReplaced)) == "spaces=replace+with+spaces%2B"
        )
    }

    @Test func leavesAsterisksInForms() throws {
        #expect(try text(["a": "*-._ *"]) == "a=%2A-._%20%2A")
        #expect(try text(["a": "*-._ *"], URLEncodedFormEncoder(spaceEncoding: .plusReplaced)) == "a=*-._+*")
        let encoder = URLEncodedFormEncoder(spaceEncoding: .plusReplaced, allowedCharacters: .alphanumerics)
        #expect(try text(["a": "*-"], encoder) == "a=%2A%2D")
    }

    @Test func escapesCharactersThatAreNotAllowed() throws {
        var allowed = CharacterSet.afURLQueryAllowed
        allowed.remove(charactersIn: "?/")
        let encoder = URLEncodedFormEncoder(allowedCharacters: allowed)
        #expect(try text(["allowed": "?/"], encoder) == "allowed=%3F%2F")
        encoder.allowedCharacters = .afURLQueryAllowed
        #expect(try text(["allowed": "?/"], encoder) == "allowed=?/")
        encoder.allowedCharacters.insert("é")
        #expect(try text(["e": "éè"], encoder) == "e=é%C3%A8")
    }

    @Test(arguments: URLEncodingTests.defaults.compactMap { $0 as? ([String: String], String) })
    func escapesLikeURLEncoding(value: [String: String], expected: String) throws {
        #expect(try text(value) == expected)
    }

    @Test func refusesRootsWithoutKeys() {
        #expect(throws: URLEncodedFormEncoder.Error.self) { try text([1, 2]) }
        #expect(throws: URLEncodedFormEncoder.Error.self) { try text("text") }
        #expect(throws: URLEncodedFormEncoder.Error.self) { try text(1) }
    }

    @Test func passesOnErrorsOfClosures() {
        struct Reason: Error {}
        let encoder = URLEncodedFormEncoder(
            dataEncoding: .custom { _ in throw Reason() },
            dateEncoding: .custom { _ in throw Reason() }
        )
        #expect(throws: Reason.self) { try text(["a": Data()], encoder) }
        #expect(throws: Reason.self) { try text(["a": Self.date], encoder) }
    }

    @Test func encodesToData() throws {
        let data: Data = try URLEncodedFormEncoder().encode(["a": 1])
        #expect(data == Data("a=1".utf8))
    }
}

private struct Sample: Encodable {
    let one = "one"
    let two = 2
    let three = true
    let four = [1, 2, 3]
    let five = ["a": "a"]
    let six = ["a": ["b": "b"]]
    let seven = Inner()

    struct Inner: Encodable { let a = "a" }
}

private class Super: Encodable {
    let one = "one"
    let two = 2
    let three = true
}

private final class Sub: Super {
    let four = [1, 2, 3]
    let five = ["a": "a", "b": "b"]

    enum Keys: String, CodingKey { case four, five }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(four, forKey: .four)
        try container.encode(five, forKey: .five)
        try super.encode(to: container.superEncoder())
    }
}

private final class SubByHand: Super {
    enum Keys: String, CodingKey { case four, five }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        let four = container.superEncoder(forKey: .four)
        var inner = four.container(keyedBy: Keys.self)
        try inner.encode(one, forKey: .four)
        try inner.encode(two, forKey: .five)
        try ["a": "a", "b": "b"].encode(to: container.superEncoder(forKey: .five))
    }
}

/// Opens the containers of one key both as objects and as a list.
private final class SubInOnePlace: Super {
    enum Keys: String, CodingKey { case four, five }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode([1, 2, 3], forKey: .four)
        var object = container.superEncoder(forKey: .four).container(keyedBy: Keys.self)
        try object.encode(two, forKey: .five)
        var list = container.nestedUnkeyedContainer(forKey: .four)
        var parent = list.superEncoder().container(keyedBy: Keys.self)
        try parent.encode(one, forKey: .four)
    }
}

private struct ParentAfterElements: Encodable {
    enum Keys: String, CodingKey { case list, a }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var list = container.nestedUnkeyedContainer(forKey: .list)
        try list.encode(1)
        var parent = list.superEncoder().container(keyedBy: Keys.self)
        try parent.encode(2, forKey: .a)
    }
}

private struct NestedByHand: Encodable {
    enum RootKeys: String, CodingKey { case root }
    enum Keys: String, CodingKey { case a, string }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: RootKeys.self)
        var root = container.nestedUnkeyedContainer(forKey: .root)
        var first = root.nestedUnkeyedContainer()
        for value in 1...3 { try first.encode(value) }
        var second = root.nestedContainer(keyedBy: Keys.self)
        var a = second.nestedContainer(keyedBy: Keys.self, forKey: .a)
        try a.encode("string", forKey: .string)
        var third = root.nestedUnkeyedContainer()
        try third.encode([1, 2, 3])
    }
}

/// Opens containers under keys that its subclass opens again.
private class SharedContainers: Encodable {
    enum Keys: String, CodingKey { case object, list }
    enum Members: String, CodingKey { case one, two }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var object = container.nestedContainer(keyedBy: Members.self, forKey: .object)
        try object.encode(1, forKey: .one)
        var list = container.nestedUnkeyedContainer(forKey: .list)
        try list.encode(1)
    }
}

private final class SharedContainersBelow: SharedContainers {
    override func encode(to encoder: any Encoder) throws {
        try super.encode(to: encoder)
        var container = encoder.container(keyedBy: Keys.self)
        var object = container.nestedContainer(keyedBy: Members.self, forKey: .object)
        try object.encode(2, forKey: .two)
        var list = container.nestedUnkeyedContainer(forKey: .list)
        #expect(list.count == 1)
        try list.encode(2)
    }
}

private struct Repeated: Encodable {
    enum Keys: String, CodingKey { case a, b }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(["first": 1], forKey: .a)
        try container.encode(["last": 2], forKey: .a)
        try container.encode(1, forKey: .b)
        try container.encodeNil(forKey: .b)
    }
}
