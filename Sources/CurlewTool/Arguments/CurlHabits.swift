/// curl's options and their equivalents in curlew, for hints to users who type curl's from habit. In `here`, `{}` is
/// replaced with the value that followed the option.
struct CurlHabits: Sendable {
    let flags: [String]
    /// Whether curl's option takes a value.
    let hasValue: Bool
    let here: String

    init(_ flags: String..., value hasValue: Bool = false, here: String) {
        self.flags = flags
        self.hasValue = hasValue
        self.here = here
    }

    static let all: [CurlHabits] = [
        CurlHabits("-X", "--request", value: true, here: "the method comes before the URL: curlew {} URL"),
        CurlHabits("-H", "--header", value: true, here: "a header is an item after the URL: curlew URL {}"),
        CurlHabits(
            "--data", "--data-raw", "--data-ascii", value: true,
            here: "data is sent as items (name=value), or --raw TEXT; '-f' makes a form of items"),
        CurlHabits("--data-binary", value: true, here: "a file is the item '@FILE'; a text is --raw TEXT"),
        CurlHabits("--data-urlencode", value: true, here: "items of a form: curlew -f URL name=value"),
        CurlHabits("--form-string", value: true, here: "items of a form: curlew --multipart URL name=value"),
        CurlHabits("-L", "--location", here: "--follow, -F"),
        CurlHabits("-k", "--insecure", here: "--verify=no"),
        CurlHabits("-u", "--user", value: true, here: "--auth USER:PASSWORD, -a"),
        CurlHabits("-i", "--include", "--show-headers", here: "--print=hb, which a terminal shows anyway"),
        CurlHabits("--head", here: "the method comes before the URL: curlew HEAD URL"),
        CurlHabits("-G", "--get", here: "query parameters are items: curlew URL name==value"),
        CurlHabits("-O", "-J", "--remote-name", "--remote-header-name", here: "--download, -d"),
        CurlHabits("-C", "--continue-at", value: true, here: "--download --continue, -dc"),
        CurlHabits("-T", "--upload-file", value: true, here: "curlew PUT URL @FILE"),
        CurlHabits("--user-agent", value: true, here: "an item: curlew URL User-Agent:{}"),
        CurlHabits("-e", "--referer", value: true, here: "an item: curlew URL Referer:{}"),
        CurlHabits(
            "--cookie", "--cookie-jar", value: true, here: "an item: Cookie:name=value; --session NAME keeps them"),
        CurlHabits("--silent", here: "--quiet, -q"),
        CurlHabits("--fail", "--fail-with-body", here: "--check-status"),
        CurlHabits("--max-time", value: true, here: "--timeout TIME"),
        CurlHabits("--max-redirs", value: true, here: "--max-redirects N"),
        CurlHabits("--cacert", "--capath", value: true, here: "--verify=PATH"),
        CurlHabits("-Z", "--parallel", here: "--download, which downloads several URLs at the same time"),
        CurlHabits("--parallel-max", value: true, here: "--download --concurrency {}"),
        CurlHabits("-E", value: true, here: "--cert FILE"),
        CurlHabits("--key", value: true, here: "--cert-key FILE"),
        CurlHabits("--pinnedpubkey", value: true, here: "--pin sha256//BASE64"),
        CurlHabits("--http1.1", here: "--http-version=1.1"),
        CurlHabits("--http2", here: "--http-version=2"),
        CurlHabits("--http3", here: "--http-version=3"),
        CurlHabits("--noproxy", value: true, here: "--proxy none, or no_proxy in the environment"),
        CurlHabits("--basic", here: "--auth-type basic, which is the default"),
        CurlHabits("--digest", here: "--auth-type digest"),
        CurlHabits("--ntlm", here: "--auth-type ntlm"),
        CurlHabits("--oauth2-bearer", value: true, here: "--auth-type bearer --auth TOKEN"),
        CurlHabits("--compressed", here: "no option: responses are always decompressed"),
        CurlHabits("--url", value: true, here: "the URL needs no option: curlew {}"),
        CurlHabits("-n", "--netrc", here: "no option: ~/.netrc is always read; hey's and ab's -n N is --repeat N"),
        CurlHabits("-N", here: "--stream, -S"),
        CurlHabits("-r", "--range", value: true, here: "an item: curlew URL Range:bytes={}"),
        CurlHabits("-w", "--write-out", value: true, here: "--meta (-m), --timing or --har FILE"),
    ]

    /// Hints for letters that mean something else in curlew. A value that is not a valid choice suggests that curl's
    /// option was meant.
    static let otherwise = [
        "-s": "-s is --style here; curl's --silent is --quiet, -q",
        "-A": "-A is --auth-type here; curl's --user-agent is an item: curlew URL User-Agent:VALUE",
    ]

    /// Returns a hint with curlew's equivalent of an unknown option, or `nil` if the table has none. `next` is the word
    /// after the option.
    static func hint(for flag: String, next: String?) -> String? {
        guard let habit = all.first(where: { $0.flags.contains(flag) }) else { return nil }
        return "curl's \(flag) is here: \(habit.text(with: next))"
    }

    /// The equivalent with the placeholder `VALUE`, for texts that are not about a particular value.
    var meaning: String { filled("VALUE") }

    private func text(with next: String?) -> String {
        guard hasValue, let next, !next.hasPrefix("-") else { return meaning }
        if flags.contains("-H") {
            let parts = next.split(separator: ":", maxSplits: 1).map { $0.drop { $0 == " " } }
            return filled(ShellQuote.quoted(parts.count == 2 ? "\(parts[0]):\(parts[1])" : next))
        }
        return filled(ShellQuote.quoted(next))
    }

    private func filled(_ value: String) -> String {
        here.split(separator: "{}", omittingEmptySubsequences: false).joined(separator: value)
    }
}

extension CurlHabits {
    /// Whether the word after `-d` looks like curl's data: `-d name=x URL`, `-d '{"a": 1}' URL`, `-d @file URL`. In
    /// curlew `-d` is `--download`.
    static func isData(_ word: String) -> Bool {
        guard let first = word.first else { return true }
        if "{[@\"".contains(first) { return true }
        let name = word.prefix { $0 != "=" }
        return name.count < word.count && !name.contains { "./:?".contains($0) }
    }
}
