/// Completion scripts, from the option table.
enum Completions {
    static func script(for shell: Shell) -> String {
        switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    private static let methods = "GET HEAD POST PUT PATCH DELETE OPTIONS"
    private static let commands = "help man completions"

    private static var bash: String {
        var cases: [String] = []
        for spec in OptionTable.all {
            guard let value = spec.value else { continue }
            let pattern = flags(spec).joined(separator: "|")
            let reply: String
            switch value.kind {
            case .file: reply = "COMPREPLY=($(compgen -f -- \"$cur\"))"
            case .choice, .suggestion:
                reply = "COMPREPLY=($(compgen -W '\(value.words.joined(separator: " "))' -- \"$cur\"))"
            case .text: reply = "COMPREPLY=()"
            }
            cases.append("        \(pattern)) \(reply); return ;;")
        }
        let all = OptionTable.all.flatMap(flags).joined(separator: " ")
        return """
            # Completion for curlew in bash. Made by 'curlew completions bash'.
            _curlew() {
                local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
                case $prev in
            \(cases.joined(separator: "\n"))
                    completions) COMPREPLY=($(compgen -W '\(Shell.allCases.map(\.rawValue).joined(separator: " "))' -- "$cur")); return ;;
                    help) COMPREPLY=($(compgen -W '\(Topics.all.map(\.name).joined(separator: " "))' -- "$cur")); return ;;
                esac
                case $cur in
                    -*) COMPREPLY=($(compgen -W '\(all)' -- "$cur")) ;;
                    *@*) COMPREPLY=($(compgen -f -P "${cur%%@*}@" -- "${cur#*@}")) ;;
                    *) if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W '\(methods) \(commands)' -- "$cur")); fi ;;
                esac
            }
            complete -o default -F _curlew curlew

            """
    }

    private static var zsh: String {
        var lines: [String] = []
        for spec in OptionTable.all {
            let names = flags(spec)
            let text = zshQuoted(firstSentence(spec.help))
            var action = ""
            if let value = spec.value {
                switch value.kind {
                case .file: action = ":\(zshQuoted(value.placeholder)):_files"
                case .choice, .suggestion:
                    action = ":\(zshQuoted(value.placeholder)):(\(value.words.joined(separator: " ")))"
                case .text: action = ":\(zshQuoted(value.placeholder)): "
                }
            }
            for name in names {
                let attaches = spec.value == nil ? "" : name.hasPrefix("--") ? "=" : "+"
                lines.append("    '*\(name)\(attaches)[\(text)]\(action)'")
            }
        }
        return """
            #compdef curlew
            # Completion for curlew in zsh. Made by 'curlew completions zsh'.
            _curlew_word() {
                if (( CURRENT == 2 )); then compadd -- \(methods) \(commands); fi
                if [[ $words[2] == completions ]]; then compadd -- \(Shell.allCases.map(\.rawValue).joined(separator: " ")); fi
                if [[ $words[2] == help ]]; then compadd -- \(Topics.all.map(\.name).joined(separator: " ")); fi
                if compset -P '*@'; then _files; fi
            }
            _curlew() {
                _arguments -s \\
            \(lines.joined(separator: " \\\n")) \\
                '*:word:_curlew_word'
            }
            if [ "$funcstack[1]" = _curlew ]; then _curlew "$@"; else compdef _curlew curlew; fi

            """
    }

    private static var fish: String {
        var lines = [
            "# Completion for curlew in fish. Made by 'curlew completions fish'.",
            "complete -c curlew -n __fish_is_first_arg -f -a '\(methods) \(commands)'",
            "complete -c curlew -n '__fish_seen_subcommand_from completions' -f -a "
                + "'\(Shell.allCases.map(\.rawValue).joined(separator: " "))'",
            "complete -c curlew -n '__fish_seen_subcommand_from help' -f -a "
                + "'\(Topics.all.map(\.name).joined(separator: " "))'",
        ]
        for spec in OptionTable.all {
            var line = "complete -c curlew"
            if let short = spec.short { line += " -s \(short)" }
            for name in spec.names { line += " -l \(name)" }
            if let value = spec.value {
                switch value.kind {
                case .file: line += " -r -F"
                case .choice, .suggestion: line += " -x -a '\(value.words.joined(separator: " "))'"
                case .text: line += " -x"
                }
            }
            lines.append(line + " -d '\(firstSentence(spec.help).replacingQuotes(with: "\\'"))'")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func flags(_ spec: OptionSpec) -> [String] {
        (spec.short.map { ["-\($0)"] } ?? []) + spec.names.map { "--" + $0 }
    }

    private static func firstSentence(_ text: String) -> String {
        var sentence = ""
        var characters = text[...]
        while let character = characters.popFirst() {
            if character == ".", characters.first == nil || characters.first == " " { break }
            sentence.append(character)
        }
        return sentence
    }

    /// For text inside `'[…]'` of `_arguments`.
    private static func zshQuoted(_ text: String) -> String {
        var out = ""
        for character in text {
            switch character {
            case "[", "]", ":", "\\": out += "\\\(character)"
            case "'": out += "'\\''"
            default: out.append(character)
            }
        }
        return out
    }
}

extension String {
    fileprivate func replacingQuotes(with replacement: String) -> String {
        split(separator: "'", omittingEmptySubsequences: false).joined(separator: replacement)
    }
}
