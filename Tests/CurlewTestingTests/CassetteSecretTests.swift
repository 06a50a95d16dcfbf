import CurlewCore
import Foundation
import Testing

@testable import CurlewTesting

/// Redaction of secrets that are not the value of a JSON member or form field with a known name.
@Suite("Secrets in cassettes", .timeLimit(.minutes(4)))
struct CassetteSecretTests {
    private func recorded(
        _ url: String = "http://mock.test/", _ fields: [Cassette.Field] = [], sent: String? = nil,
        received: String? = nil, by redaction: CassetteRedaction = .init()
    ) -> Cassette.Exchange {
        let clean = redaction.redacted(
            Cassette.Exchange(
                request: Cassette.Request(
                    method: "POST", url: url, headers: fields, body: sent.flatMap { Cassette.Body(Data($0.utf8)) }),
                response: Cassette.Response(
                    status: 200, headers: fields, body: received.flatMap { Cassette.Body(Data($0.utf8)) })))
        // A replay redacts the recorded request again before it compares requests.
        #expect(redaction.redacted(clean) == clean)
        return clean
    }

    private func body(_ text: String, type: String) -> (sent: String?, received: String?) {
        let clean = recorded("http://mock.test/", [Cassette.Field("Content-Type", type)], sent: text, received: text)
        func kept(_ body: Cassette.Body?) -> String? { body.map { String(decoding: $0.data, as: UTF8.self) } }
        return (kept(clean.request.body), kept(clean.response?.body))
    }

    @Test(
        "XML and JSON are recognized after a byte order mark and under any content type",
        arguments: [
            ("\u{FEFF}\n<a><password>s3cret</password></a>", "application/xml"),
            ("<a><password>s3cret</password></a>", "text/plain"),
            ("\u{FEFF}{\"password\":\"s3cret\"}", "text/plain"),
        ])
    func markup(text: String, type: String) throws {
        let kept = body(text, type: type)
        let received = try #require(kept.received)
        #expect(!received.contains("s3cret") && received.contains("password"))
        let sent = try #require(kept.sent)
        #expect(!sent.contains("s3cret"))
    }

    @Test("the value of a secret field in plain text is redacted to the end of the line")
    func digestInText() {
        let text = "Authorization: Digest username=\"s3cret\", response=\"s3cret\"\nHost: a"
        #expect(body(text, type: "text/plain").received == "Authorization: <redacted>\nHost: a")
    }

    @Test(
        "secrets in query items and form items are redacted, also in nameless and nested ones",
        arguments: [
            ("?s3cret", "?<redacted>"), ("?a=1&s3cret&acl", "?a=1&<redacted>&acl"), ("?=s3cret", "?=<redacted>"),
            ("?a=1&&b=2#s3cret", "?a=1&&b=2#<redacted>"), ("?wsdl", "?wsdl"),
            ("?next=https%3A%2F%2Fu%3As3cret%40h%2F", "?next=<redacted>"),
            ("?variables=%7B%22password%22%3A%22s3cret%22%7D", "?variables=<redacted>"),
            ("?query=%7Blogin(password%3A%22s3cret%22)%7D", "?query=<redacted>"), ("?query=a+word", "?query=a+word"),
            ("?query=%7Buser%7Bid%7D%7D", "?query=%7Buser%7Bid%7D%7D"), ("?filter=%7Ba:1%7D", "?filter=%7Ba:1%7D"),
            ("?filter=%7Bpin:s3cret%7D", "?filter=<redacted>"), ("?v=%7B%22pin%22:%22s3cret", "?v=<redacted>"),
            ("?next=/login?token=s3cret", "?next=<redacted>"), ("?next=/login?a=1", "?next=/login?a=1"),
            ("?next=login%3Ftoken%3Ds3cret", "?next=<redacted>"), ("?next=login%3Fa%3D1", "?next=login%3Fa%3D1"),
            ("?next=https%3A%2F%2Fh%2F%3Fq%3Da%20b%26token%3Ds3cret", "?next=<redacted>"),
            ("?next=https://h/%23scope=openid+profile%26id_token%3Ds3cret", "?next=<redacted>"),
            ("?next=https%3A%2F%2Fu%3As3c%20ret%40h%2F", "?next=<redacted>"),
            ("?next=https://h/?q=a+b", "?next=https://h/?q=a+b"),
            ("?x=%7B'name':'pin','value':'s3cret'%7D", "?x=<redacted>"),
            ("?x=%7B%22name%22:%22pin%22,%22value%22:%22s3cret%22", "?x=<redacted>"),
            ("?x=%7B%7D%7B%22name%22:%22pin%22,%22value%22:%22s3cret%22%7D", "?x=<redacted>"),
            ("?x=%7Bpin%20s3cret%7D", "?x=<redacted>"), ("?x=%5Bpin,s3cret%5D", "?x=<redacted>"),
            ("?x=%7Bpin=%0As3cret%7D", "?x=<redacted>"), ("?x=%7Buser%7Bid%7D%7D", "?x=%7Buser%7Bid%7D%7D"),
            ("?query=%7Ba(label:%22PIN:%22,pin:%22s3cret%22)%7D", "?query=<redacted>"),
            ("?data=user%3Dada%26password%3Ds3cret", "?data=<redacted>"), ("?a=1;pin=s3cret", "?a=<redacted>"),
            ("?data=user%3Dada%26a%3D1", "?data=user%3Dada%26a%3D1"), ("?a=1;b=YWRh==", "?a=1;b=YWRh=="),
            ("#/callback?code=s3cret&state=1", "#/callback?code=<redacted>&state=1"),
        ])
    func namelessItems(query: String, kept: String) {
        #expect(recorded("http://mock.test/" + query).request.url == "http://mock.test/" + kept)
        guard !query.contains("#") else { return }
        let form = body(String(query.dropFirst()), type: "application/x-www-form-urlencoded")
        #expect(form.sent == String(kept.dropFirst()) && form.received == form.sent)
    }

    @Test(
        "nested URLs are inspected up to a depth and redacted beyond it",
        arguments: ["https://h.test/?a=", "https%3A%2F%2Fh.test%2F%3Fa%3D"])
    func nestedURLs(link: String) {
        let url = "http://mock.test/?a="
        #expect(recorded(url + link + "1").request.url == url + link + "1")
        let long = url + String(repeating: link, count: 2_000) + "1"
        #expect(recorded(long).request.url == long)
        // Each URL is percent-encoded once more than the URL that contains it.
        let nested = (0..<40).reduce("1") { inner, _ in
            "https%3A%2F%2Fh.test%2F%3Fa%3D" + inner.replacing("%", with: "%25")
        }
        #expect(recorded(url + nested).request.url == url + "<redacted>")
        let document = (0..<4).reduce("mutation{a(pin:1)}") { inner, _ in
            "%2Fx%3Fquery%3D" + inner.replacing("%", with: "%25")
        }
        #expect(recorded(url + document).request.url == url + "<redacted>")
    }

    @Test("a URL in the path of another loses its user information")
    func pathsWithURLs() {
        #expect(recorded("https://web.test/https://u:s3cret@h.test/").request.url == "https://web.test/https://h.test/")
    }

    @Test(
        "secrets in header fields with URLs, client addresses or tokens are redacted",
        arguments: [
            ("Origin", "https://u:s3cret@h.test", "https://h.test"),
            ("X-Original-Url", "/login?token=s3cret&a=1", "/login?token=<redacted>&a=1"),
            ("X-Rewrite-URL", "https://u:s3cret@h.test/a", "https://h.test/a"),
            ("X-Next", "https://h.test/?a=1,https://u:s3cret@h.test/", "<redacted>"),
            ("X-Next", "https://h.test/,https://u:s3cret@h.test/", "<redacted>"),
            ("X-Next", "a /login?token=s3cret", "a /login?token=<redacted>"),
            ("X-Next", "https://h/?q=a b&token=s3cret", "https://h/?q=a b&token=<redacted>"),
            ("X-Next", "https://h/?q=a\tb&token=s3cret", "https://h/?q=a\tb&token=<redacted>"),
            ("X-Original-Url", "https://h/?next=https://h2/&token=s3cret", "<redacted>"),
            ("X-Original-Url", "https://h/?next=https://h2/&a=1&b", nil),
            ("X-Original-Url", "/app;jsessionid=s3cret/a;v=1?b=2", "/app;jsessionid=<redacted>/a;v=1?b=2"),
            ("Location", "https://h/app;jsessionid=s3cret?x=1", "https://h/app;jsessionid=<redacted>?x=1"),
            ("Link", "</a?sid=s3cret>; rel=next, </b>; a=\"c/d\"", "</a?sid=<redacted>>; rel=next, </b>; a=\"c/d\""),
            ("Link", "</a?sid=s3cret", "</a?sid=<redacted>"),
            ("Link", "https://u:s3cret@h/, </b>; rel=next", "https://h/, </b>; rel=next"),
            ("X-Next", "https://u:s3c ret@h/", "https://h/"), ("X-Help", "https://h.test or ada@h.test", nil),
            ("Location", "https://web.test/https://u:s3cret@h/", "https://web.test/https://h/"),
            ("Forwarded", "for=\"_s3cret\";proto=https", "<redacted>"), ("X-Forwarded-For", "192.0.2.1", "<redacted>"),
            ("Sec-WebSocket-Protocol", "chat, bearer.s3cret", "<redacted>"),
            ("Content-Security-Policy", "default-src https://a.test https://b.test", nil), ("Accept", "a/b;q=1", nil),
        ] as [(String, String, String?)])
    func fields(name: String, value: String, kept: String?) {
        #expect(
            recorded("http://mock.test/", [Cassette.Field(name, value)]).request.headers.map(\.value) == [kept ?? value]
        )
    }

    @Test(
        "secrets in JSON are redacted by the names of members and of name-value pairs",
        arguments: [
            (#"{"name":"password","value":"s3cret"}"#, #"{"name":"password","value":"<redacted>"}"#),
            (
                #"[{"key":"X-Auth-Token","value":["s3cret",1]}]"#,
                #"[{"key":"X-Auth-Token","value":["<redacted>",0]}]"#
            ),
            (#"[["Authorization","s3cret"],["Accept","a"]]"#, #"[["Authorization","<redacted>"],["Accept","a"]]"#),
            (#"{"name":"plover","value":"kept"}"#, #"{"name":"plover","value":"kept"}"#),
            (#"{"key":"session-s3cret"}"#, #"{"key":"<redacted>"}"#),
            (#"{"key":"code","value":"s3cret"}"#, #"{"key":"code","value":"<redacted>"}"#),
            (#"{"name":"X-Real-IP","value":"s3cret"}"#, #"{"name":"X-Real-IP","value":"<redacted>"}"#),
            (#"["code","plan"]"#, #"["code","plan"]"#),
            (#"{"error":{"code":404}}"#, #"{"error":{"code":0}}"#),
            (#"{"code":{"a":"s3cret","b":null}}"#, #"{"code":{"a":"<redacted>","b":null}}"#),
            (#"{"next":"https://h/?a=1&token=s3cret"}"#, #"{"next":"https://h/?a=1&token=<redacted>"}"#),
            (#"{"next":"https://h/?1700000000"}"#, #"{"next":"https://h/?1700000000"}"#),
            (#"{"next":"/login?a=1&token=s3cret"}"#, #"{"next":"/login?a=1&token=<redacted>"}"#),
            (#"{"note":"see https://u:s3cret@h/ there"}"#, #"{"note":"see https://h/ there"}"#),
            (
                #"{"next":"https://h/?redirect_uri=https://app/cb&code=s3cret"}"#, #"{"next":"<redacted>"}"#
            ),
            (#"{"note":"https://h/\nhttps://h/?sid=s3cret"}"#, #"{"note":"https://h/\nhttps://h/?sid=<redacted>"}"#),
            (#"{"all":"https://h/,https://u:s3cret@h/"}"#, #"{"all":"<redacted>"}"#),
            (#"{"next":"https://h/?q=a b&token=s3cret"}"#, #"{"next":"https://h/?q=a b&token=<redacted>"}"#),
            (#"{"next":"https://h/?q=a\tb&token=s3cret"}"#, #"{"next":"https://h/?q=a\tb&token=<redacted>"}"#),
            (#"{"next":"?after=1&access_token=s3cret"}"#, #"{"next":"?after=1&access_token=<redacted>"}"#),
            (#"{"next":"login?token=s3cret"}"#, #"{"next":"login?token=<redacted>"}"#),
            (#"{"text":"[reset](/reset?pin=s3cret)"}"#, #"{"text":"[reset](/reset?pin=<redacted>"}"#),
            (#"{"text":"Really? See a/b?c=d e"}"#, #"{"text":"Really? See a/b?c=d e"}"#),
            (
                #"{"query":"{ a(label: \"Password:\", token: \"s3cret\") }"}"#,
                #"{"query":"{ a(label: \"Password:\", token: \"<redacted>\") }"}"#
            ),
            (#"[{"name":"password","value":"s3cret"},{"na"#, "<redacted>"),
            (#"{"value":NaN,"key":"code","value":"s3cret"}"#, "<redacted>"),
            (#"[{"name":"plover","value":"kept"},]"#, #"[{"name":"plover","value":"kept"},]"#),
            (#"{"field":"password","rejectedValue":"s3cret"}"#, #"{"field":"password","rejectedValue":"<redacted>"}"#),
            (
                #"{"AttemptedValue":"s3cret","PropertyName":"Password"}"#,
                #"{"AttemptedValue":"<redacted>","PropertyName":"Password"}"#
            ),
            (
                #"{"detail":[{"input":"s3cret","loc":["body","password"]}]}"#,
                #"{"detail":[{"input":"<redacted>","loc":["body","password"]}]}"#
            ),
            (#"{"input":"kept","loc":["body","name"]}"#, #"{"input":"kept","loc":["body","name"]}"#),
            (#"{"password": 's3c s3cret'}"#, #"{"password": "<redacted>""#),
            (#"{"authorization": Bearer s3cret}"#, #"{"authorization": "<redacted>""#),
            (#"{"token": [a] s3cret}"#, #"{"token": "<redacted>"}"#),
            (#"{"text":"[{'pin':'s3cret'}]"}"#, #"{"text":"[{'pin':'<redacted>'}]"}"#),
            (#"{"title":"[Session: 3] Intro"}"#, #"{"title":"[Session: 3] Intro"}"#),
            (#"{"why":"[error] the header Authorization"}"#, #"{"why":"[error] the header Authorization"}"#),
            (#"{"note":"a/b; the session key = 5 and more"}"#, #"{"note":"a/b; the session key = 5 and more"}"#),
            (#"{"note":"see a/b; sid=s3cret"}"#, #"{"note":"see a/b; sid=<redacted>"}"#),
            (#"{"data":"password=s3cret&user=ada"}"#, #"{"data":"password=<redacted>&user=ada"}"#),
            (#"{"a":"<","b":"a=b;c==","c":"<none>"}"#, #"{"a":"<","b":"a=b;c==","c":"<none>"}"#),
            (#"{"xml":"<pin>s3cret</pin>"}"#, #"{"xml":"<pin>&lt;redacted&gt;</pin>"}"#),
            ("[error] the header Authorization is missing", "[error] the header Authorization is missing"),
            (
                "{\"name\":\"pin\",\"value\":\"s3cret\"}\r\n\r\n[]\r\n",
                "{\"name\":\"pin\",\"value\":\"<redacted>\"}\n\r\n[]\r\n"
            ),
            (#"{"text":"{'pin':'s3cret'}"}"#, #"{"text":"{'pin':'<redacted>'}"}"#),
            (#"{"text":"{'name':'pin','value':'s3cret'}"}"#, #"{"text":"<redacted>"}"#),
            (#"{"text":"{\"pin\":\"s3cret\"}"}"#, #"{"text":"{\"pin\":\"<redacted>\"}"}"#),
            (
                #"{"text":"{\"next\":\"https://h/\",\"pin\":\"s3cret\"}"}"#,
                #"{"text":"{\"next\":\"https://h/\",\"pin\":\"<redacted>\"}"}"#
            ),
            (
                #"{"query":"mutation { login(user: \"a\", password: \"s3cret\") { id } }"}"#,
                #"{"query":"mutation { login(user: \"a\", password: \"<redacted>\") { id } }"}"#
            ),
        ])
    func pairs(text: String, kept: String) {
        let (sent, received) = body(text, type: "application/json")
        #expect(sent == kept && received == kept, "\(sent ?? "")")
    }

    @Test(
        "GraphQL documents lose the values of secret arguments",
        arguments: [
            (
                #"{ login(password: "s3\"cret", user: "a") { id } }"#,
                #"{ login(password: "<redacted>", user: "a") { id } }"#
            ),
            (#"{ a(pin: 1234, b: 2) }"#, #"{ a(pin: <redacted>, b: 2) }"#),
            (#"{ a(token: """s3 "cret" """) }"#, #"{ a(token: """<redacted>""") }"#),
            (#"{ a(credentials: {user: "s3cret"}, b: 1) }"#, #"{ a(credentials: <redacted>, b: 1) }"#),
            (#"{ a(credentials: {user: "}s3cret", b: "]"}, b: 1) }"#, #"{ a(credentials: <redacted>, b: 1) }"#),
            ("{ a(tokens: [1 # ]\n \"s3cret\"]) }", "{ a(tokens: <redacted>) }"),
            ("{ a(pin\n :,\n\"s3cret\", b: 1) }", "{ a(pin\n :,\n\"<redacted>\", b: 1) }"),
            ("{ a(pin # c\n: # c\n 1234) }", "{ a(pin # c\n: # c\n <redacted>) }"),
            (#"{ token: make(pin: "s3cret") }"#, #"{ token: <redacted>(pin: "<redacted>") }"#),
            (
                #"{ a(label: "Password:", token: "s3cret") }"#, #"{ a(label: "Password:", token: "<redacted>") }"#
            ),
            (
                "# for 5\" screens\nmutation { login(password: \"s3cret\") { id } }",
                "# for 5\" screens\nmutation { login(password: \"<redacted>\") { id } }"
            ),
            (
                #"{ a(label: "Enter your PIN: ", pin: "s3cret") }"#,
                #"{ a(label: "Enter your PIN: ", pin: "<redacted>") }"#
            ),
            (
                #"{ a(label: """Password:""", token: "s3cret") }"#,
                #"{ a(label: """Password:""", token: "<redacted>") }"#
            ),
            ("input I { pin: String #c\n ! = 1234 }", "input I { pin: <redacted> #c\n ! = <redacted> }"),
            (#"{ a(text: "pin: s3cret") }"#, #"{ a(text: "pin: <redacted>") }"#),
            (#"{ a(token: """s3c\"""ret""") }"#, #"{ a(token: """<redacted>""") }"#),
            (#"{ a(pin: b=c="s3cret s3cret") }"#, #"{ a(pin: <redacted>=<redacted>="<redacted>") }"#),
            (#"{"pin": "s3cret", "a": "#, #"{"pin": "<redacted>", "a": "#),
            (
                #"query($ pin: String = "s3cret") { a }"#, #"query($ pin: <redacted> = "<redacted>") { a }"#
            ),
            (
                "query($,pin: String = \"s3cret\", $#c\npin: Int=1234) { a }",
                "query($,pin: <redacted> = \"<redacted>\", $#c\npin: <redacted>=<redacted>) { a }"
            ),
            (
                #"input I { pin: String! = "s3cret", pins: [Int!]! = [1234] }"#,
                #"input I { pin: <redacted> = "<redacted>", pins: [Int!]! = [1234] }"#
            ),
            (
                #"input I { pin: [String!]! = ["s3cret"] b: Int }"#,
                #"input I { pin: <redacted> = <redacted> b: Int }"#
            ),
            (
                #"type T { a(pin: String = "s3cret"): Int }"#,
                #"type T { a(pin: <redacted> = "<redacted>"): Int }"#
            ),
            (
                #"query($pin: [String!]! = ["s3cret"], $password: String = "s3cret", $b: Int = 3) { a }"#,
                #"query($pin: [String!]! = <redacted>, $password: String = "<redacted>", $b: Int = 3) { a }"#
            ),
            (
                #"query($password: String!, $b: Int = 3) { login(password: $password, b: $b) }"#,
                #"query($password: String!, $b: Int = 3) { login(password: $password, b: $b) }"#
            ),
            (
                #"query($password: String!) { login(password: $password) }"#,
                #"query($password: String!) { login(password: $password) }"#
            ),
        ])
    func graphQL(text: String, kept: String) {
        #expect(body(text, type: "application/graphql").sent == kept)
    }

    @Test(
        "XML and HTML lose the values of secret elements and attributes",
        arguments: [
            ("<a><password>s3cret</password><b>1</b></a>", "<a><password>_</password><b>1</b></a>"),
            ("<w:Password Type=\"x\">s3cret</w:Password>", "<w:Password Type=\"x\">_</w:Password>"),
            ("<token><![CDATA[s3cret]]></token>", "<token><![CDATA[_]]></token>"),
            ("<user pin='s3cret' id=\"1\"/>", "<user pin='_' id=\"1\"/>"),
            (
                "<form><input name=csrf_token value=s3cret><p>x</p></form>",
                "<form><input name=csrf_token value=_><p>x</p></form>"
            ),
            ("<meta content=\"s3cret\" name=\"csrf-token\">", "<meta content=\"_\" name=\"csrf-token\">"),
            (
                "<m><name>password</name><value><string>s3cret</string></value></m>",
                "<m><name>password</name><value><string>_</string></value></m>"
            ),
            (
                "<d><key>apiKey</key><string>s3cret</string><key>b</key><string>c</string></d>",
                "<d><key>apiKey</key><string>_</string><key>b</key><string>c</string></d>"
            ),
            (
                "<secrets><a v=\"s3cret\">s3cret</a><secrets>s3cret</secrets>s3cret</secrets><b>1</b>",
                "<secrets><a v=\"_\">_</a><secrets>_</secrets>_</secrets><b>1</b>"
            ),
            (
                "<a href=\"https://u:s3cret@h/?a=1&amp;sid=s3cret\">x</a>",
                "<a href=\"https://h/?a=1&amp;sid=<redacted>\">x</a>"
            ),
            (
                "<a href=https://h/?sid=s3cret>x</a><a href=\"?sid=s3cret\">x</a>",
                "<a href=_>x</a><a href=\"?sid=<redacted>\">x</a>"
            ),
            ("<a>1 < 2 <> <password>s3cret < 1</password> 3 > 2</a>", "<a>1 < 2 <> <password>_</password> 3 > 2</a>"),
            (
                "<password><a title='</password>'>s3cret</a></password><b>1</b>",
                "<password><a title='</password>'>_</a></password><b>1</b>"
            ),
            ("<p don't><password>s3cret</password><p it's>y", "<p don't><password>_</password><p it's>y"),
            (
                "<m><name>password</name ><value>s3cret</value></m>",
                "<m><name>password</name ><value>_</value></m>"
            ),
            ("<token><![CDATA[</token>]]>s3cret</token>", "<token><![CDATA[_]]>_</token>"),
            ("<r><key>s3cret</key></r>", "<r><key>_</key></r>"),
            ("<token href=http://h/>s3cret</token>", "<token href=http://h/>_</token>"),
            ("<token>1<token a=b/>2</token>s3cret</token>3", "<token>_<token a=b/>_</token>_</token>3"),
            ("<r><meta name=\"pin\"><v>s3cret</v></meta>1</r>", "<r><meta name=\"pin\"><v>_</v></meta>1</r>"),
            ("<r><col name=\"pin\">s3cret</col>1</r>", "<r><col name=\"pin\">_</col>1</r>"),
            (
                "<r><name><![CDATA[password]]></name><!-- c --><value>s3cret</value></r>",
                "<r><name><![CDATA[password]]></name><!-- c --><value>_</value></r>"
            ),
            (
                "<script>x='<!--'</script><password>s3cret</password>",
                "<script>x='<!--'</script><password>_</password>"
            ),
            (
                "<a data-x=\"https://h/?q=a b&token=s3cret\">x</a>",
                "<a data-x=\"https://h/?q=a b&token=<redacted>\">x</a>"
            ),
            ("<button formaction=\"x?token=s3cret\">", "<button formaction=\"x?token=<redacted>\">"),
            ("<meta content=\"0;url=/x?token=s3cret\">", "<meta content=\"0;url=/x?token=<redacted>\">"),
            ("<a href=\"https://web/https://u:s3cret@h/\">x</a>", "<a href=\"https://web/https://h/\">x</a>"),
            // Markup that ends in the middle.
            ("<a><password>s3cret", "<a><password>_"), ("<a><user pin=\"s3cret", "<a>_"), ("<", "_"), ("<a", "_"),
            ("</", "_"),
            ("<a ='x' =>1</a>", "<a ='x' =>1</a>"),
        ])
    func markup(text: String, kept: String) {
        let kept = kept.replacing("_", with: "&lt;redacted&gt;").replacing(
            "csrf&lt;redacted&gt;token", with: "csrf_token")
        for type in ["text/xml", "text/html; charset=utf-8"] {
            let (sent, received) = body(text, type: type)
            #expect(sent == kept && received == kept, "\(sent ?? "")")
        }
    }

    @Test(
        "a plain-text request body is replaced by its length, and a response body is redacted by its pairs",
        arguments: [
            ("s3cret", "s3cret"), ("pin: s3cret\nb: 1", "pin: <redacted>\nb: 1"),
            ("PASSWORD='s3cret' x", "PASSWORD='<redacted>' x"),
            ("Authorization: Bearer s3cret", "Authorization: <redacted>"),
            (
                "Ocp-Apim-Subscription-Key: s3cret\nX-Real-IP: 192.0.2.1",
                "Ocp-Apim-Subscription-Key: <redacted>\nX-Real-IP: <redacted>"
            ),
            ("credentials: {'}s3cret'}", "credentials: <redacted>"),
            ("password:\n  s3cret\nb: 1", "password:\n  <redacted>\nb: 1"),
            ("password: |\n  s3cret\n\n  s3cret\nb: 1", "password: <redacted>\nb: 1"),
            ("- password: s3cret\n  b: 1", "- password: <redacted>\n  b: 1"),
            ("tokens:\n- s3cret\n- s3cret\nb: 1", "tokens:\n- <redacted>\nb: 1"),
            ("a:\n  - tokens:\n      - s3cret\n  - b: 1", "a:\n  - tokens:\n      - <redacted>\n  - b: 1"),
            ("pin: s3cret\n---\nb: 1", "pin: <redacted>\n---\nb: 1"),
            ("password:\nb: 1", "password:\nb: 1"), ("card[pin]=s3cret", "card[pin]=<redacted>"),
            ("card['pin'][0]=s3cret", "card['pin'][0]=<redacted>"),
            ("password: 's3c''s3cret', b", "password: '<redacted>', b"),
            ("password: 'it''s3 s3cret', b", "password: '<redacted>', b"),
            ("password:\"\"s3cret b", "password:\"<redacted>\" b"), ("token: [a] s3cret", "token: <redacted>"),
        ])
    func texts(text: String, received: String) {
        let kept = body(text, type: "text/plain")
        #expect(kept.sent == "<redacted: \(text.utf8.count) bytes>")
        #expect(kept.received == received)
        var redaction = CassetteRedaction()
        redaction.keepsOtherRequestBodies = true
        #expect(recorded(sent: text, by: redaction).request.body == .text(received))
    }

    @Test("a request body that is a single JSON value or bytes is replaced by its length")
    func lone() {
        #expect(body("\"s3cret\"", type: "application/json").sent == "<redacted: 8 bytes>")
        let bytes = Cassette.Body.base64(Data([0xFF, 0xFE, 0x00]))
        let exchange = Cassette.Exchange(
            request: Cassette.Request(method: "POST", url: "http://mock.test/", body: bytes),
            response: Cassette.Response(status: 200, body: bytes))
        let clean = CassetteRedaction().redacted(exchange)
        #expect(clean.request.body == .text("<redacted: 3 bytes>") && clean.response?.body == bytes)
    }

    // MARK: Replay

    private func answer(_ replay: ReplayTransport, _ path: String, _ body: String) async -> String? {
        let sink = RecordingSink()
        let request = TransferRequest.test(path, method: .post, body: .data(Data(body.utf8)))
        return await replay.result(of: request, sink: sink).error == nil ? sink.taken : nil
    }

    @Test("a request matches the recorded exchange by its redacted form")
    func playsBack() async throws {
        let mock = MockTransport()
        mock.enqueue(.text("one"), .text("two"), .text("three"))
        let recorder = RecordingTransport(mock)
        for (path, body) in [("/?s3cret", "s3cret"), ("/?acl", "longer s3cret"), ("/", "<pin>s3cret</pin>")] {
            let request = TransferRequest.test(path, method: .post, body: .data(Data(body.utf8)))
            _ = await recorder.result(of: request, sink: RecordingSink())
        }
        let text = String(decoding: try JSONEncoder().encode(recorder.cassette), as: UTF8.self)
        #expect(!text.contains("s3cret"), "\(text)")
        let replay = ReplayTransport(recorder.cassette, matching: .methodURLAndBody)
        #expect(await answer(replay, "/", "<pin>other</pin>") == "three")
        #expect(await answer(replay, "/?acl", "another one!!") == "two")
        #expect(await answer(replay, "/?acl", "short") == nil)
        #expect(await answer(replay, "/?other!", "secret") == "one")
    }

    @Test("the change closure of a redaction is called once for a replayed request")
    func changesOnce() async {
        let changes = Watched(0)
        var redaction = CassetteRedaction()
        redaction.change = { exchange in
            changes.change { $0 += 1 }
            exchange.request.headers.append(Cassette.Field("X-Change", "\(changes.value)"))
        }
        let exchange = Cassette.Exchange(
            request: Cassette.Request(
                method: "POST", url: "http://mock.test/", headers: [Cassette.Field("X-Change", "1")],
                body: .text("abc")),
            response: Cassette.Response(status: 200, body: .text("found")))
        let matching = ReplayTransport.Matching.methodURLAndBody.adding(.header("X-Change"))
        let replay = ReplayTransport(Cassette(exchanges: [exchange]), matching: matching, redaction: redaction)
        #expect(await answer(replay, "/", "abc") == "found")
        #expect(changes.value == 1)
    }

    @Test("bodies that a cassette holds unredacted are compared in full")
    func comparesWhatWasKept() async {
        let exchanges = ["abc", "xyz"].map {
            Cassette.Exchange(
                request: Cassette.Request(method: "POST", url: "http://mock.test/?=a&flag", body: .text($0)),
                response: Cassette.Response(status: 200, body: .text($0)))
        }
        let replay = ReplayTransport(Cassette(exchanges: exchanges), matching: .methodURLAndBody)
        #expect(await answer(replay, "/?=a&flag", "xyz") == "xyz")
        #expect(await answer(replay, "/?=a&flag", "xyz") == nil)
        #expect(await answer(replay, "/?=a&flag", "abc") == "abc")
    }
}
