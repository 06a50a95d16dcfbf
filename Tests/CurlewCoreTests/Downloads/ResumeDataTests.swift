import CurlewCore
import Foundation
import Testing

@Suite("Resume data", .timeLimit(.minutes(4)))
struct ResumeDataTests {
    static func sample() throws -> ResumeData {
        ResumeData(
            url: try #require(URL(string: "https://example.com/disk.img?v=1")), headers: ["Accept": "*/*"],
            validator: .entityTag("\"5e1f\""), bytesWritten: 10, expectedTotal: 40, file: "/srv/in/a.part")
    }

    @Test("resume data is encoded as the documented text")
    func text() throws {
        let text = String(decoding: try Self.sample().encoded, as: UTF8.self)
        #expect(
            text == """
                {"bytesWritten":10,"curlewResumeData":1,"expectedTotal":40,"file":"/srv/in/a.part",\
                "headers":[{"name":"Accept","value":"*/*"}],"method":"GET",\
                "url":"https://example.com/disk.img?v=1","validator":{"entityTag":"\\"5e1f\\""}}
                """)
    }

    @Test("encoded resume data is decoded unchanged")
    func roundTrip() throws {
        var data = try Self.sample()
        #expect(try ResumeData(data.encoded) == data)
        data.validator = .lastModified("Sun, 06 Nov 1994 08:49:37 GMT")
        data.expectedTotal = nil
        #expect(try ResumeData(data.encoded) == data)
        data.expectedTotal = 40
        data.segments = [FileSegment(0..<30, written: 4), FileSegment(30..<40, written: 6)]
        #expect(try ResumeData(data.encoded) == data)
    }

    @Test("resume data with an empty list of segments is rejected, even for an empty file")
    func noSegments() throws {
        var data = try Self.sample()
        (data.bytesWritten, data.expectedTotal, data.segments) = (0, 0, [])
        #expect(throws: CurlewError.self) { try ResumeData(data.encoded) }
    }

    @Test(
        "secret fields, fields of one transfer and credentials in the URL are not stored",
        arguments: [
            "Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "x-auth-token", "X-Amz-Security-Token",
            "Set-Cookie", "X-Client-Secret", "Session-Id", "If-Range", "RANGE", "Accept-Encoding", "Host", "X-JWT",
            "X-OTP",
            "DPoP", "X-Pin", "X-CSRF", "X-Hmac", "X-Bearer", "X-JWS", "Authentication", "Key", "X-Access-Key-Id",
        ])
    func secrets(_ name: String) throws {
        let data = ResumeData(
            url: try #require(URL(string: "https://user:pass@example.com/a?b=c")),
            headers: [name: "hush", "Accept-Language": "en"], validator: .entityTag("\"x\""), bytesWritten: 1,
            expectedTotal: nil, file: "/a")
        #expect(data.headers == [HTTPHeader(name: "Accept-Language", value: "en")])
        #expect(data.url.absoluteString == "https://example.com/a?b=c")
        let text = String(decoding: data.encoded, as: UTF8.self)
        #expect(!text.contains("hush") && !text.contains("pass"))
    }

    @Test(
        "malformed or inconsistent resume data is rejected",
        arguments: [
            (#""curlewResumeData":1"#, #""curlewResumeData":2"#), (#""curlewResumeData":1,"#, ""),
            (#"https://example.com"#, "file://example.com"), (#"https://example.com"#, ""),
            (#""GET""#, #""POST""#), (#""value":"*/*""#, #""value":"a\r\nb""#),
            (#""Accept""#, #""Acc ept""#), (#""\"5e1f\"""#, #""W/\"5e1f\"""#), (#""\"5e1f\"""#, #""\"5\r\ne\"""#),
            (#""bytesWritten":10"#, #""bytesWritten":-1"#), (#""bytesWritten":10"#, #""bytesWritten":41"#),
            (#""bytesWritten":10"#, #""bytesWritten":1e30"#), (#""file":"/srv"#, #""file":"srv"#),
            (#""file":"/srv"#, #""file":"/\u0000srv"#), (#"{"entityTag":"\"5e1f\""}"#, "{}"),
            (#"{"entityTag":"\"5e1f\""}"#, #"{"lastModified":"today"}"#), ("}", ""),
            (#""method""#, #""segments":[],"method""#),
            (#""method""#, #""segments":[{"first":0,"end":40,"written":9}],"method""#),
            (#""method""#, #""segments":[{"first":0,"end":41,"written":10}],"method""#),
            (#""method""#, #""segments":[{"first":0,"end":20,"written":10}],"method""#),
            (
                #""method""#,
                #""segments":[{"first":0,"end":20,"written":10},{"first":21,"end":40,"written":0}],"method""#
            ), (#""method""#, #""segments":[{"first":0,"end":40,"written":-1}],"method""#),
        ])
    func rejected(_ original: String, _ replacement: String) throws {
        let text = String(decoding: try Self.sample().encoded, as: UTF8.self)
        try #require(text.contains(original))
        let broken = Data(text.replacingOccurrences(of: original, with: replacement).utf8)
        let error = #expect(throws: CurlewError.self) { try ResumeData(broken) }
        #expect(error?.code == .resumeRejected)
    }

    @Test("a Referer is stored only if it has no query")
    func referer() throws {
        let url = try #require(URL(string: "https://example.com/"))
        for (value, isKept) in [("https://a.test/page", true), ("https://a.test/?code=hush", false)] {
            let data = ResumeData(
                url: url, headers: ["Referer": value], validator: .entityTag("\"x\""), bytesWritten: 1,
                expectedTotal: nil, file: "/a")
            #expect(data.headers.map(\.value) == (isKept ? [value] : []))
        }
    }

    /// Another version of Curlew may have stored these fields.
    @Test(
        "secret fields and fields of one transfer are ignored when resume data is read",
        arguments: ["Cookie", "X-JWT", "Range"])
    func secretsRead(_ name: String) throws {
        let text = String(decoding: try Self.sample().encoded, as: UTF8.self)
        let read = try ResumeData(Data(text.replacingOccurrences(of: "Accept", with: name).utf8))
        #expect(read.headers.isEmpty && read.bytesWritten == 10)
    }

    @Test(
        "data that is not resume data is rejected",
        arguments: [Data(), Data("null".utf8), Data([0xFF, 0, 1]), Data("[]".utf8)])
    func noise(_ data: Data) {
        let error = #expect(throws: CurlewError.self) { try ResumeData(data) }
        #expect(error?.code == .resumeRejected)
    }
}

@Suite("Names of partial files")
struct PartialFileNameTests {
    @Test("names of partial files are recognized", arguments: [0, 1, 35, 36, 1 << 32, UInt64.max] as [UInt64])
    func made(_ number: UInt64) {
        let name = PartialFileName.make(number)
        #expect(PartialFileName.isMade(name))
        #expect(PartialFileName.isMade("/srv/in/\(name)".suffix(from: "/srv/in/".endIndex)) == true)
        #expect(name.hasPrefix(".curlew-") && name.hasSuffix(".part"))
    }

    @Test("a name with one changed or missing character is not recognized")
    func changed() {
        let name = Array(PartialFileName.make(0x0123_4567_89AB_CDEF))
        for index in name.indices {
            var other = name
            other[index] = name[index] == "x" ? "y" : "x"
            #expect(!PartialFileName.isMade(String(other)), "\(String(other))")
            other.remove(at: index)
            #expect(!PartialFileName.isMade(String(other)))
        }
    }

    @Test(
        "names of other files are not recognized",
        arguments: [
            "", "id_rsa", ".curlew-.part", ".curlew-1k2j3h.part", ".curlew-0000000000000-0000000000000.part",
            ".curlew-+000000000000-0000000000000.part", ".curlew-zzzzzzzzzzzzz-zzzzzzzzzzzzz.part",
            ".curlew-é00000000000-0000000000000.part", "\(PartialFileName.make(7).uppercased())",
            "\(PartialFileName.make(7)) ", "a/\(PartialFileName.make(7))",
        ])
    func foreign(_ name: String) { #expect(!PartialFileName.isMade(name)) }
}
