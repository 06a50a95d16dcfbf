internal import Curlew

/// Generates the text of `curlew --help` from the option table.
enum HelpText {
    static let usageLines = [
        "curlew [METHOD] URL [ITEM...] [OPTION...]",
        "curlew --download URL... [OPTION...]",
        "curlew ws://HOST[/PATH] [ITEM...] [OPTION...]",
        "curlew cache list DIR | clear DIR [URL]",
        "curlew help [TOPIC] | man | completions SHELL",
    ]

    static func overview(width: Int = 80) -> String {
        let width = max(50, min(width, 100))
        var lines = ["curlew: send an HTTP request and show the response", "", "Usage:"]
        lines += usageLines.map { "  " + $0 }
        lines += ["", "Items:"]
        for row in Topics.items { lines += entry(row.form, row.meaning, indent: 2, column: 22, width: width) }
        for group in OptionGroup.allCases {
            lines += ["", "\(group.rawValue):"]
            for spec in OptionTable.all where spec.group == group {
                lines += entry(label(spec), spec.fullHelp, indent: 2, column: 26, width: width)
            }
        }
        lines += ["", "Examples:"]
        for row in Topics.examples { lines += entry(row.command, row.meaning, indent: 2, column: 26, width: width) }
        lines.append("")
        lines += TextWrap.lines(
            "'--no-' before an option's name cancels the option. Arguments after '--' are never options.",
            width: width
        )
        let topics = Topics.all.map(\.name).joined(separator: ", ")
        lines += TextWrap.lines("'curlew help TOPIC' explains one of these topics: \(topics).", width: width)
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the text about one option, for `curlew help --follow` and `curlew help follow`.
    static func option(_ spec: OptionSpec, width: Int = 80) -> String {
        let lines =
            [label(spec)] + TextWrap.lines(spec.fullHelp, width: max(40, width - 4)).map { "    " + $0 }
            + (spec.example.map { ["", "    " + $0] } ?? [])
        return lines.joined(separator: "\n") + "\n"
    }

    static func label(_ spec: OptionSpec) -> String {
        let short = spec.short.map { "-\($0), " } ?? ""
        let value = spec.value.map { " \($0.placeholder)" } ?? ""
        return short + spec.names.map { "--" + $0 }.joined(separator: ", ") + value
    }

    private static func entry(_ label: String, _ text: String, indent: Int, column: Int, width: Int) -> [String] {
        let margin = String(repeating: " ", count: indent)
        let body = TextWrap.lines(text, width: max(20, width - column))
        let padding = String(repeating: " ", count: column)
        guard label.count + indent + 2 <= column else { return [margin + label] + body.map { padding + $0 } }
        let first = margin + label + String(repeating: " ", count: column - indent - label.count) + body[0]
        return [first] + body.dropFirst().map { padding + $0 }
    }
}

extension OptionSpec {
    /// The help, and all values of a choice unless the help mentions each of them.
    var fullHelp: String {
        guard case .choice(let words)? = value?.kind else { return help }
        let missing = words.filter { !help.contains("'\($0)'") && !help.contains("(\($0))") }
        return missing.isEmpty ? help : help + " One of \(words.joined(separator: ", "))."
    }
}

/// The text of `--version`: the tool, libcurl, its features, and the settings that are refused because it lacks them.
enum VersionText {
    static func text(_ capabilities: Capabilities) -> String {
        let protocols = capabilities.protocols.filter { $0 == "http" || $0 == "https" || $0 == "ws" || $0 == "wss" }
        var lines = [
            "curlew \(CurlewInfo.version)",
            "libcurl \(capabilities.version)" + (capabilities.tlsBackend.map { " with \($0)" } ?? ""),
            "protocols: " + protocols.sorted().joined(separator: " "),
            "features: " + capabilities.features.sorted { $0.lowercased() < $1.lowercased() }.joined(separator: " "),
            "encodings: " + capabilities.contentCodings.joined(separator: " "),
            "HTTP/3: " + (capabilities.http3Library ?? "no"),
            "DNS over HTTPS: " + (capabilities.hasDNSOverHTTPS ? "yes" : "no"),
            "international names: " + (capabilities.internationalNameLibrary ?? "no"),
            "public suffixes: " + (capabilities.publicSuffixLibrary ?? "no"),
        ]
        let missing = [("HTTP2", "--http-version 2"), ("HTTP3", "--http-version 3"), ("UnixSockets", "--unix-socket")]
            .filter { !capabilities.features.contains($0.0) }
        if !missing.isEmpty { lines.append("not available here: " + missing.map(\.1).joined(separator: ", ")) }
        lines += capabilities.refusals.map { "refused: \($0.feature), needs \($0.needs)" }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// Breaks text into lines of at most `width` characters. A longer word gets a line for itself.
enum TextWrap {
    static func lines(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " " + word
        }
        if !line.isEmpty || lines.isEmpty { lines.append(line) }
        return lines
    }
}
