/// Generates the manual page in man(7) macros, from the tables of `--help`.
enum ManPage {
    static func text(version: String) -> String {
        var out = [
            ".\\\" Made by 'curlew man'.",
            ".TH CURLEW 1 \"\" \"curlew \(version)\" \"User Commands\"",
            ".SH NAME", "curlew \\- send an HTTP request and show the response",
            ".SH SYNOPSIS", ".nf",
        ]
        out += HelpText.usageLines.map { ".B " + escaped($0) }
        out += [
            ".fi", ".SH DESCRIPTION",
            escaped(
                "Sends one HTTP request, described by the items, and shows the response: coloured and formatted on a "
                    + "terminal, byte for byte elsewhere. With ws:// and wss://, lines are sent and received as "
                    + "messages."),
            ".SH REQUEST ITEMS",
        ]
        for row in Topics.items { out += [".TP", ".B " + escaped(row.form), escaped(row.meaning)] }
        out += [".SH OPTIONS"]
        for group in OptionGroup.allCases {
            out.append(".SS " + escaped(group.rawValue))
            for spec in OptionTable.all where spec.group == group {
                out += [".TP", label(spec), escaped(spec.fullHelp)]
                if let example = spec.example { out += [".IP", ".B " + escaped(example)] }
            }
        }
        out += [".SH EXAMPLES"]
        for row in Topics.examples { out += [".TP", ".B " + escaped(row.command), escaped(row.meaning)] }
        for topic in Topics.all where topic.name != "items" { out += section(topic) }
        out += [
            ".SH ENVIRONMENT", ".TP", ".B NO_COLOR", "Switches colours off unless \\fB\\-\\-pretty\\fR asks for them.",
            ".TP", ".B CURLEW_CONFIG_DIR",
            escaped("Where config.json and sessions are kept; $XDG_CONFIG_HOME/curlew if it is not set."),
            ".TP", ".B XDG_CONFIG_HOME", escaped("Where curlew/ is; ~/.config if it is not set."),
            ".TP", ".B http_proxy, https_proxy, all_proxy, no_proxy", "As for curl.",
            ".SH SEE ALSO", ".BR curl (1)",
        ]
        return out.joined(separator: "\n") + "\n"
    }

    private static func section(_ topic: Topic) -> [String] {
        var out = [".SH " + escaped(topic.title.uppercased())]
        var isVerbatim = false
        for line in topic.lines where !line.isEmpty {
            if line.hasPrefix("  ") != isVerbatim {
                isVerbatim.toggle()
                out += isVerbatim ? [".PP", ".nf"] : [".fi"]
            }
            out += isVerbatim ? [escaped(String(line.dropFirst(2)))] : [".PP", escaped(line)]
        }
        if isVerbatim { out.append(".fi") }
        return out
    }

    private static func label(_ spec: OptionSpec) -> String {
        var forms = spec.names.map { "--" + $0 }
        if let short = spec.short { forms.insert("-\(short)", at: 0) }
        let text = forms.map { "\\fB\(escaped($0))\\fR" }.joined(separator: ", ")
        return text + (spec.value.map { " \\fI\(escaped($0.placeholder))\\fR" } ?? "")
    }

    /// Escapes backslashes, hyphens that must remain hyphens, and a leading dot or quote.
    static func escaped(_ text: String) -> String {
        var out = ""
        for character in text {
            switch character {
            case "\\": out += "\\e"
            case "-": out += "\\-"
            default: out.append(character)
            }
        }
        return out.hasPrefix(".") || out.hasPrefix("'") ? "\\&" + out : out
    }
}
