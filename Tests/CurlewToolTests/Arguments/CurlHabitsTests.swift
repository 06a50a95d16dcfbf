import Testing

@testable import CurlewTool

@Suite("Habits from curl")
struct CurlHabitsTests {
    private func failure(_ words: [String]) -> UsageError? {
        do {
            _ = try CommandBuilder.command(for: words)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            (["-X", "PUT", "x"], "curl's -X is here: the method comes before the URL: curlew PUT URL"),
            (["-XPUT", "x"], "curl's -X is here: the method comes before the URL: curlew PUT URL"),
            (["-H", "X-A: 1 2", "x"], "curl's -H is here: a header is an item after the URL: curlew URL 'X-A:1 2'"),
            (
                ["--header", "X-A: 1", "x"],
                "curl's --header is here: a header is an item after the URL: curlew URL X-A:1"
            ),
            (["-L", "x"], "curl's -L is here: --follow, -F"), (["-k", "x"], "curl's -k is here: --verify=no"),
            (["-vk", "x"], "curl's -k is here: --verify=no"),
            (["-u", "a:b", "x"], "curl's -u is here: --auth USER:PASSWORD, -a"),
            (
                ["--data", "a", "x"],
                "curl's --data is here: data is sent as items (name=value), or --raw TEXT; '-f' makes a form of items"
            ),
            (["--insecure", "x"], "curl's --insecure is here: --verify=no"),
            (["--user-agent=me", "x"], "curl's --user-agent is here: an item: curlew URL User-Agent:me"),
            (["-r", "0-5", "x"], "curl's -r is here: an item: curlew URL Range:bytes=0-5"),
            (["-N", "x"], "curl's -N is here: --stream, -S"),
            (
                ["-n", "100", "x"],
                "curl's -n is here: no option: ~/.netrc is always read; hey's and ab's -n N is --repeat N"
            ),
            (["-c", "5", "x"], "hey's and ab's -c N is --concurrency N."),
            (["--parallel-max", "3", "x"], "curl's --parallel-max is here: --download --concurrency 3"),
            (["-s", "example.org"], "-s is --style here; curl's --silent is --quiet, -q"),
            (["-s", "monoka"], "Did you mean 'monokai'?"),
            (
                ["-A", "me/1.0", "x"],
                "-A is --auth-type here; curl's --user-agent is an item: curlew URL User-Agent:VALUE"
            ),
            (["-Q"], "For a word that begins with '-' write '--' before it."),
            (["--fllow"], "Did you mean '--follow'?"),
        ])
    func errorNamesOwnFormOfCurlsOption(_ words: [String], _ hint: String) { #expect(failure(words)?.hint == hint) }

    @Test(arguments: ["name=x", "{\"a\": 1}", "@file.json", "a=1&b=2", "[1]"])
    func dataInsteadOfURLIsRefusedForDownload(_ data: String) {
        #expect(
            failure(["-d", data, "example.org"])
                == UsageError(
                    "'\(data)' is not a URL, and -d is --download",
                    hint: "Data items follow the URL: curlew example.org name=value, or --raw TEXT."))
    }

    @Test(
        "an error about a second URL explains that curl's -F, -x, -b and -m take a value",
        arguments: [["-F", "a=b"], ["-x", "http://proxy"], ["-b", "a=b"], ["-m", "5"]], ["http://h/", ":8080/x", ":/x"])
    func seesASecondURL(_ words: [String], _ url: String) {
        let error = failure(words + [url])
        #expect(error?.message == "'\(url)' is a second URL")
        #expect(error?.hint?.contains("curl's -F, -x, -b and -m have a value") == true)
    }

    @Test(arguments: ["example.org/x?a=1", "http://h/?q=1", ":8080/a=b"])
    func takesURLsForADownload(_ url: String) { #expect(failure(["-d", url, "http://other.example/"]) == nil) }

    @Test("no hint about curl's options covers an option that curlew has")
    func saysNothingOfOwnOptions() {
        for flag in CurlHabits.all.flatMap(\.flags) {
            let name = flag.drop { $0 == "-" }
            if flag.hasPrefix("--") {
                #expect(OptionTable.spec(long: String(name)) == nil)
            } else {
                #expect(name.first.flatMap(OptionTable.spec(short:)) == nil)
            }
        }
        let flags = CurlHabits.all.flatMap(\.flags)
        #expect(Set(flags).count == flags.count)
    }
}
