internal import Curlew
internal import CurlewCore

/// Builds the output of `--curl`: the curl command that sends the same request under the same conditions.
struct CurlCommand {
    let plan: RequestPlan
    let invocation: Invocation
    var auth: AuthSettings?

    /// Returns the command on one line, or with one option per line.
    func text(isMultiline: Bool = false) -> String {
        let groups = [["curl"]] + options() + [[plan.url]]
        let words = groups.map { $0.map(ShellQuote.quoted).joined(separator: " ") }
        return words.joined(separator: isMultiline ? " \\\n  " : " ")
    }

    private func options() -> [[String]] {
        var options: [[String]] = []
        if plan.method == "HEAD" {
            options.append(["--head"])
        } else if plan.method != impliedMethod {
            options.append(["-X", plan.method])
        }
        // curl expands brackets as ranges, except those of an IPv6 address.
        if URLParts(plan.url).target.contains(where: { "[]".contains($0) }) { options.append(["--globoff"]) }
        options += headerOptions() + bodyOptions() + networkOptions() + tlsOptions()
        if let file = invocation.output.file {
            options.append(["-o", file])
        } else if invocation.download != nil {
            options.append(["-OJ"])
        }
        if invocation.download?.continues == true { options.append(["-C", "-"]) }
        return options
    }

    /// The method that curl uses without `-X`: `-T` is an upload, the other bodies are data.
    private var impliedMethod: String {
        switch plan.body {
        case .none: "GET"
        case .standardInput: "PUT"
        case .data, .file, .multipart: "POST"
        }
    }

    private func headerOptions() -> [[String]] {
        var options: [[String]] = []
        for field in plan.headers {
            // curl writes this field itself, with a boundary that it chooses.
            if case .multipart = plan.body, field.name.lowercased() == "content-type" { continue }
            options.append(["-H", field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"])
        }
        for name in plan.suppressedHeaders.sorted() { options.append(["-H", "\(name):"]) }
        if !plan.suppressedHeaders.contains("accept-encoding"), plan.header("Accept-Encoding") == nil {
            options.append(["--compressed"])
        }
        return options
    }

    private func bodyOptions() -> [[String]] {
        switch plan.body {
        case .none: []
        case .data(let bytes):
            if let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) {
                [["--data-raw", text]]
            } else {
                [["--data-binary", "@-"]]
            }
        case .file(let path): [["--data-binary", "@\(InputFile.expanded(path))"]]
        case .standardInput: [["-T", "-"]]
        case .multipart(let parts, _):
            parts.map { part in
                switch part.content {
                case .text(let text): ["--form-string", "\(part.name)=\(text)"]
                case .file(let path, let type), .bytes(_, let path, let type):
                    ["-F", "\(part.name)=@\(Self.formPath(path))" + (type.map { ";type=\($0)" } ?? "")]
                }
            }
        }
    }

    /// Quotes a path for `-F` if necessary. Outside quotes, semicolons and commas end the name, and spaces around it
    /// are dropped.
    private static func formPath(_ path: String) -> String {
        let path = InputFile.expanded(path)
        // Compares scalars instead of characters: curl sees a semicolon even if a combining mark follows it.
        let scalars = path.unicodeScalars
        let isSpaced = [scalars.first, scalars.last].contains { $0?.properties.isWhitespace == true }
        guard isSpaced || scalars.contains(where: { $0 == ";" || $0 == "," || $0 == "\"" }) else { return path }
        var quoted = "\""
        for scalar in scalars {
            if scalar == "\\" || scalar == "\"" { quoted.unicodeScalars.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    private func networkOptions() -> [[String]] {
        let network = invocation.network
        var options: [[String]] = []
        if network.follows { options.append(["-L", "--max-redirs", String(network.maximumRedirects)]) }
        if let auth { options += authOptions(auth) }
        if case .some(.some(let time)) = network.timeout {
            options.append(["--speed-time", String(max(1, time.components.seconds)), "--speed-limit", "1"])
        }
        if case .some(.some(let time)) = network.connectTimeout {
            options.append(["--connect-timeout", Self.seconds(time)])
        }
        switch network.proxy {
        case nil: break
        case .some(.none): options.append(["--noproxy", "*"])
        case .url(let url): options.append(["-x", url])
        }
        switch network.httpVersion {
        case nil: break
        case .http1_1: options.append(["--http1.1"])
        case .http2: options.append(["--http2"])
        case .http2PriorKnowledge: options.append(["--http2-prior-knowledge"])
        case .http3: options.append(["--http3"])
        }
        for (host, addresses) in network.overrides.sorted(by: { $0.key < $1.key }) {
            options.append(["--resolve", "\(host):\(addresses.joined(separator: ","))"])
        }
        if let path = network.unixSocket { options.append(["--unix-socket", path]) }
        switch network.family {
        case nil: break
        case .v4: options.append(["-4"])
        case .v6: options.append(["-6"])
        }
        if network.retries > 0 { options.append(["--retry", String(network.retries)]) }
        if let rate = network.rateLimit { options.append(["--limit-rate", String(rate)]) }
        if network.keepsPath { options.append(["--path-as-is"]) }
        return options
    }

    private func authOptions(_ auth: AuthSettings) -> [[String]] {
        let user = "\(auth.username):\(auth.secret ?? "")"
        return switch auth.scheme {
        case .basic: [["-u", user]]
        case .bearer: [["--oauth2-bearer", auth.secret ?? ""]]
        case .digest: [["--digest", "-u", user]]
        case .ntlm: [["--ntlm", "-u", user]]
        case .negotiate: [["--negotiate", "-u", user]]
        case .any: [["--anyauth", "-u", user]]
        }
    }

    private func tlsOptions() -> [[String]] {
        let tls = invocation.tls
        var options: [[String]] = []
        switch tls.verification {
        case .system: break
        case .none: options.append(["-k"])
        case .path(let path): options.append([path.hasSuffix("/") ? "--capath" : "--cacert", path])
        }
        if let version = tls.version {
            let number = version == .v1_0 ? "1.0" : String(version.rawValue.dropFirst(3))
            options.append(["--tlsv\(number)", "--tls-max", number])
        }
        if let ciphers = tls.ciphers { options.append(["--ciphers", ciphers]) }
        if let certificate = tls.certificate {
            options.append(["--cert", certificate + (tls.passphrase.map { ":\($0)" } ?? "")])
        }
        if let key = tls.key { options.append(["--key", key]) }
        if !tls.pins.isEmpty { options.append(["--pinnedpubkey", tls.pins.joined(separator: ";")]) }
        return options
    }

    static func seconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        guard attoseconds != 0 else { return String(seconds) }
        return Amount.fixed(Double(seconds) + Double(attoseconds) / 1e18, digits: 3)
    }
}

/// Quotes words for a POSIX shell, if they need it.
enum ShellQuote {
    static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { ASCII.isDigit($0) || ASCII.isAlpha($0) || "%+,-./:=@_".utf8.contains($0) }
        return isPlain ? word : ShellQuoting.single.quoted(word)
    }
}
