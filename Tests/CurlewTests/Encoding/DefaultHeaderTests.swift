import Testing

@testable import Curlew

@Suite("Languages and names in default headers")
struct DefaultHeaderTests {
    @Test(
        "preferred languages come from the environment",
        arguments: [
            ([:], ["en"]), (["LANG": "C.UTF-8"], ["en"]), (["LANG": "POSIX", "LANGUAGE": "de"], ["en"]),
            (["LANG": "de_AT.UTF-8"], ["de-AT"]), (["LANG": "de_DE@euro", "LC_ALL": "fr_FR.UTF-8"], ["fr-FR"]),
            (["LANG": "de_DE", "LC_MESSAGES": "it_IT"], ["it-IT"]), (["LC_ALL": "", "LANG": "sv"], ["sv"]),
            (["LANG": "de_AT.UTF-8", "LANGUAGE": "de_AT:de:en_GB:de"], ["de-AT", "de", "en-GB"]),
            (["LANG": "de_AT.UTF-8", "LANGUAGE": "fr"], ["fr", "de-AT"]), (["LANG": "d\r\ne"], ["en"]),
        ] as [([String: String], [String])])
    func languages(environment: [String: String], expected: [String]) {
        #expect(PreferredLanguages.list(in: environment, otherwise: ["en"]) == expected)
    }

    @Test(
        "a user agent contains the known properties of the app",
        arguments: [
            ([:], "probe", "probe (Linux 6.1.0) Curlew/\(CurlewInfo.version)"),
            ([:], nil, "Curlew/\(CurlewInfo.version) (Linux 6.1.0)"),
            (["CFBundleVersion": "7"], "probe", "probe (build:7; Linux 6.1.0) Curlew/\(CurlewInfo.version)"),
            (
                [
                    "CFBundleExecutable": "App", "CFBundleShortVersionString": "1.2", "CFBundleVersion": "7",
                    "CFBundleIdentifier": "org.example.app",
                ],
                "probe", "App/1.2 (org.example.app; build:7; Linux 6.1.0) Curlew/\(CurlewInfo.version)"
            ),
        ] as [([String: String], String?, String)])
    func agents(info: [String: String], executable: String?, expected: String) {
        #expect(HTTPHeader.agent(of: info, executable: executable, system: "Linux 6.1.0") == expected)
    }

    @Test(
        "names in header fields are transliterated to ASCII",
        arguments: [
            ("plain/1.0", "plain/1.0"), ("Zürich", "Zurich"), ("Straße", "Strasse"), ("Клиент", "Klient"),
            ("a\r\nb", "a??b"), ("日本", "ri ben"), ("🐦", "?"),
        ])
    func names(name: String, expected: String) {
        #expect(ASCIIText.transliterated(name) == expected)
        #expect(ASCIIText.transliterated(name).utf8.allSatisfy { (0x20..<0x7F).contains($0) })
    }
}
