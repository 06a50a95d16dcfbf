import Testing

@testable import CurlewTesting

@Suite("HPACK") struct HPACKTests {
    struct Vector: CustomTestStringConvertible {
        var section: String
        var tableLimit = 4_096
        /// The blocks of one connection, in hexadecimal and in order.
        var blocks: [String]
        var lists: [[(String, String)]]
        var tableSizes: [Int]

        var testDescription: String { section }
    }

    private static let get = [
        (":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com"),
    ]
    private static let requests = [
        get,
        get + [("cache-control", "no-cache")],
        [
            (":method", "GET"), (":scheme", "https"), (":path", "/index.html"), (":authority", "www.example.com"),
            ("custom-key", "custom-value"),
        ],
    ]
    private static func answer(_ status: String, second: Int) -> [(String, String)] {
        [
            (":status", status), ("cache-control", "private"), ("date", "Mon, 21 Oct 2013 20:13:\(second) GMT"),
            ("location", "https://www.example.com"),
        ]
    }
    private static let answers = [
        answer("302", second: 21),
        answer("307", second: 21),
        answer("200", second: 22) + [
            ("content-encoding", "gzip"),
            ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"),
        ],
    ]

    /// The examples of RFC 7541, appendix C.
    static let vectors = [
        Vector(
            section: "C.2.1, a literal that is added",
            blocks: ["400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572"],
            lists: [[("custom-key", "custom-header")]], tableSizes: [55]),
        Vector(
            section: "C.2.2, a literal that is not added", blocks: ["040c 2f73 616d 706c 652f 7061 7468"],
            lists: [[(":path", "/sample/path")]], tableSizes: [0]),
        Vector(
            section: "C.2.3, a literal that is never added", blocks: ["1008 7061 7373 776f 7264 0673 6563 7265 74"],
            lists: [[("password", "secret")]], tableSizes: [0]),
        Vector(section: "C.2.4, an index", blocks: ["82"], lists: [[(":method", "GET")]], tableSizes: [0]),
        Vector(
            section: "C.3, requests",
            blocks: [
                "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
                "8286 84be 5808 6e6f 2d63 6163 6865",
                "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
            ],
            lists: requests, tableSizes: [57, 110, 164]),
        Vector(
            section: "C.4, requests in Huffman's code",
            blocks: [
                "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
                "8286 84be 5886 a8eb 1064 9cbf",
                "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
            ],
            lists: requests, tableSizes: [57, 110, 164]),
        Vector(
            section: "C.5, responses with a small table", tableLimit: 256,
            blocks: [
                "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32"
                    + "3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
                "4803 3330 37c1 c0bf",
                "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970"
                    + "7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178"
                    + "2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
            ],
            lists: answers, tableSizes: [222, 222, 215]),
        Vector(
            section: "C.6, responses in Huffman's code with a small table", tableLimit: 256,
            blocks: [
                "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad"
                    + "1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
                "4883 640e ffc1 c0bf",
                "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2"
                    + "e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
            ],
            lists: answers, tableSizes: [222, 222, 215]),
    ]

    @Test(arguments: vectors) func decodesTheExamplesOfTheRFC(vector: Vector) throws {
        var decoder = HPACKDecoder(tableLimit: vector.tableLimit)
        for (index, block) in vector.blocks.enumerated() {
            let decoded = try decoder.decode(bytes(block), listLimit: 4_096)
            #expect(decoded.fields == vector.lists[index].map { HPACKField($0.0, $0.1) })
            #expect(!decoded.isTooLong)
            #expect(decoder.tableSize == vector.tableSizes[index])
        }
    }

    /// The examples of RFC 7541, C.1, and further integers.
    @Test(arguments: [("0a", 5, 10), ("1f9a0a", 5, 1_337), ("2a", 8, 42), ("ff00", 7, 127), ("1fe0ff7f", 5, 2_097_151)])
    func integersAreDecodedAndEncoded(hex: String, prefix: Int, value: Int) throws {
        var reader = HPACKReader(bytes(hex))
        #expect(try reader.integer(prefix: prefix) == value)
        #expect(reader.isAtEnd)
        var written: [UInt8] = []
        let flags = bytes(hex)[0] & ~UInt8((1 << prefix) - 1)
        HPACKEncoder.append(value, prefix: prefix, flags: flags, to: &written)
        #expect(written == bytes(hex))
    }

    /// Decodes all bytes from 0 to 255 from the code that another implementation wrote.
    @Test func huffmanCodeDecodesEveryByte() {
        #expect(HuffmanCode.shared.decode(bytes(allBytesCoded)) == Array(0...255))
    }

    @Test(arguments: [
        ("a block that ends in a string", "400a 6375"),
        ("a block that ends in an integer", "1f9a"),
        ("an integer without end", "ff80 8080 8080 8080 8000"),
        ("an integer above 28 bits", "7fff ffff ff0f"),
        ("the index 0", "80"),
        ("an index beyond the tables", "be"),
        ("the name of an index beyond the tables", "7e 0161"),
        ("a table above our settings", "3fe2 1f"),
        ("a change of the table behind a field", "8220"),
        ("EOS in a string", "4001 6184 ffff ffff"),
        ("padding of eight bits", "4001 6182 1fff"),
        ("padding that is not ones", "4001 6181 18"),
    ])
    func malformedBlockIsRefused(name: String, hex: String) {
        var decoder = HPACKDecoder()
        #expect(throws: HTTP2Failure.self) { try decoder.decode(bytes(hex), listLimit: 4_096) }
    }

    @Test func expandedHeaderListIsLimited() throws {
        var decoder = HPACKDecoder()
        let long = HPACKField("x", String(repeating: "v", count: 3_000))
        var block: [UInt8] = [0x40, 1, UInt8(ascii: "x")]
        HPACKEncoder.append(long.value.count, prefix: 7, flags: 0, to: &block)
        block += long.value + [UInt8](repeating: 0xBE, count: 100_000)
        let decoded = try decoder.decode(block, listLimit: 10_000)
        #expect(decoded.isTooLong)
        #expect(decoded.fields == [long, long, long])
        // The decoder's table still equals that of the peer.
        #expect(decoder.tableFields == [long])
        #expect(try decoder.decode([0xBE], listLimit: 10_000).fields == [long])
    }

    @Test func dynamicTableCanBeEmptied() throws {
        var decoder = HPACKDecoder()
        _ = try decoder.decode(
            bytes("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572"), listLimit: 4_096)
        #expect(decoder.tableSize == 55)
        _ = try decoder.decode(bytes("20 3f e1 1f 82"), listLimit: 4_096)
        #expect(decoder.tableSize == 0)
        #expect(throws: HTTP2Failure.self) { try decoder.decode(bytes("be"), listLimit: 4_096) }
    }

    @Test func encodedFieldsAreDecodedUnchanged() throws {
        let fields = [
            HPACKField(":status", "200"), HPACKField(":status", "299"), HPACKField("etag", ""),
            HPACKField("x-new", "ä"),
            HPACKField("x", String(repeating: "y", count: 40_000)),
        ]
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        for _ in 0..<2 {
            #expect(try decoder.decode(encoder.encode(fields), listLimit: 1 << 20).fields == fields)
            #expect(decoder.tableSize == 0)
        }
    }

    @Test func randomBlocksNeverTrap() {
        var random = SplitMix(seed: 41)
        var failures = 0
        for _ in 0..<3_000 {
            var decoder = HPACKDecoder()
            for _ in 0..<3 {
                let block = (0..<Int.random(in: 0..<60, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                do throws(HTTP2Failure) {
                    let decoded = try decoder.decode(block, listLimit: 1_000)
                    #expect(decoded.fields.reduce(0) { $0 + $1.size } <= 1_000)
                } catch {
                    failures += 1
                    #expect(error.code == .compressionError)
                }
                #expect(decoder.tableSize <= 4_096)
                #expect(decoder.tableSize == decoder.tableFields.reduce(0) { $0 + $1.size })
            }
        }
        #expect(failures > 0)
    }
}

private let allBytesCoded = """
    ffc7fffd8fffffe2fffffe3fffffe4fffffe5fffffe6fffffe7fffffe8ffffeafffffff3fffffa7fffffabffffffdfffffeb
    fffffecfffffedfffffeefffffefffffff0ffffff1ffffff2fffffffbfffffcffffffd3fffffd7fffffdbfffffdffffffe3f
    ffffe7fffffebfffffed4fe3f9ffaffcabf1febfafefe7fdfd2cbb00089969b71d79fb9f7fff20ffbff3ff50ddbd7f061c58
    f265cd9f469d5af66dddbf871e5f9cff7ff7fffc3ff9ffe45fff4719242cb34e6e9d68a6a3d7dac426defe3cfaf7fffbfe7f
    fbffdffffffcfffe6ffff4bfff9ffffa3fffd3ffff53fffd5ffffb3fffeb7fffdaffffb7ffff73fffeeffffdeffffebffffb
    fffffd9ffffdbfffebffffe0ffffeeffffc3ffff8bffff1ffffe4fffee7fffb1ffff97fffd9ffffcdffff9fffffbffffdaff
    feeffff4ffffb7fffee7fffe8ffffd3fffdeffffd5fffeeffffbdffffe1fffdfffff7fffff5ffffecffff07fff87fffe0fff
    f17fffedffff87ffff77fffeffffeaffff8bfffe3ffff93ffff87fffcbffff37ffff1fffff83ffffe1fffebfffe3ffff3fff
    ff2ffffa3ffffd9fffff17ffffc7fffff27ffffdefffffbffffff2fffff8fffffb7fff97fff8fffffe6fffffc1fffff87fff
    fe7fffffc5ffffe5fffe4ffff2fffffd1fffff4ffffffefffffe3fffffc9fffff97fffb3ffffcffffb7fffcdffff4ffff9ff
    ffd1ffffcffffeaffffafffffddffffeffffff4fffff5fffffabffffa7ffffd7fffff9bffffecfffffb7fffff3fffffe8fff
    ffd3fffffabfffff5fffffff7ffffecfffffdbfffffbbfffff7ffffff0fffffbbf
    """
