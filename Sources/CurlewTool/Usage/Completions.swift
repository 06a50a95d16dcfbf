/// Generates completion scripts from the option table.
enum Completions {
    static func script(for shell: Shell) -> String {
        switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    private static let methods = "GET HEAD POST PUT PATCH DELETE OPTIONS"
    private static let commands = "help man completions cache"
    /// The commands of `curlew cache`.
    private static let cacheCommands = "list clear"

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
            case .session: reply = "COMPREPLY=($(compgen -W \"$(_curlew_sessions)\" -- \"$cur\"))"
            case .text: reply = "COMPREPLY=()"
            }
            cases.append("        \(pattern)) \(reply); return ;;")
        }
        let all = OptionTable.all.flatMap(flags).joined(separator: " ")
        return """
            # Completion for curlew in bash. Made by 'curlew completions bash'.
            \(sessionNames)
            _curlew() {
                local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
                # The line editor takes the '=' of '--style=dark' for a word.
                if [ "$prev" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; elif [ "$cur" = = ]; then cur=; fi
                case $prev in
            \(cases.joined(separator: "\n"))
                    completions) COMPREPLY=($(compgen -W '\(Shell.allCases.map(\.rawValue).joined(separator: " "))' -- "$cur")); return ;;
                    cache) if [ "$COMP_CWORD" -eq 2 ]; then COMPREPLY=($(compgen -W '\(cacheCommands)' -- "$cur")); return; fi ;;
                    list|clear) if [ "${COMP_WORDS[1]}" = cache ]; then COMPREPLY=($(compgen -d -- "$cur")); return; fi ;;
                    help) COMPREPLY=($(compgen -W '\(Topics.all.map(\.name).joined(separator: " "))' -- "$cur")); return ;;
                esac
                case $cur in
                    -*) COMPREPLY=($(compgen -W '\(all)' -- "$cur")) ;;
                    *@*) COMPREPLY=($(compgen -f -P "${cur%%@*}@" -- "${cur#*@}")) ;;
                    *) if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W '\(methods) \(commands)' -- "$cur")); fi ;;
                esac
            }
            complete -o default -F _curlew curlew curlews

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
                case .session: action = ":\(zshQuoted(value.placeholder)):($(_curlew_sessions))"
                case .text: action = ":\(zshQuoted(value.placeholder)): "
                }
            }
            for name in names {
                let attaches = spec.value == nil ? "" : name.hasPrefix("--") ? "=" : "+"
                lines.append("    '*\(name)\(attaches)[\(text)]\(action)'")
            }
        }
        return """
            #compdef curlew curlews
            # Completion for curlew in zsh. Made by 'curlew completions zsh'.
            \(sessionNames)
            _curlew_word() {
                if (( CURRENT == 2 )); then compadd -- \(methods) \(commands); fi
                if [[ $words[2] == completions ]]; then compadd -- \(Shell.allCases.map(\.rawValue).joined(separator: " ")); fi
                if [[ $words[2] == cache ]]; then
                    if (( CURRENT == 3 )); then compadd -- \(cacheCommands); elif (( CURRENT == 4 )); then _files -/; fi
                fi
                if [[ $words[2] == help ]]; then compadd -- \(Topics.all.map(\.name).joined(separator: " ")); fi
                if compset -P '*@'; then _files; fi
            }
            _curlew() {
                _arguments -s \\
            \(lines.joined(separator: " \\\n")) \\
                '*:word:_curlew_word'
            }
            if [ "$funcstack[1]" = _curlew ]; then _curlew "$@"; else compdef _curlew curlew curlews; fi

            """
    }

    private static var fish: String {
        var lines = [
            "# Completion for curlew in fish. Made by 'curlew completions fish'.",
            fishSessionNames,
            "complete -c curlew -n __fish_is_first_arg -f -a '\(methods) \(commands)'",
            "complete -c curlew -n '__fish_seen_subcommand_from completions' -f -a "
                + "'\(Shell.allCases.map(\.rawValue).joined(separator: " "))'",
            "complete -c curlew -n '__fish_seen_subcommand_from cache; and not __fish_seen_subcommand_from \(cacheCommands)'"
                + " -f -a '\(cacheCommands)'",
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
                case .session: line += " -x -a '(__curlew_sessions)'"
                case .text: line += " -x"
                }
            }
            lines.append(line + " -d '\(firstSentence(spec.help).replacingQuotes(with: "\\'"))'")
        }
        // The name `curlews` gets these completions too.
        return lines.joined(separator: "\n") + "\ncomplete -c curlews -w curlew\n"
    }

    /// A shell function that prints the names of the stored sessions, for bash and zsh.
    private static let sessionNames = """
        _curlew_sessions() {
            find "${CURLEW_CONFIG_DIR:-${XDG_CONFIG_HOME:-$HOME/.config}/curlew}/sessions" \\
                -mindepth 2 -maxdepth 2 -name '*.json' 2>/dev/null | sed 's,.*/,,; s,\\.json$,,' | grep -x '[A-Za-z0-9._-]*' | sort -u
        }
        """

    private static let fishSessionNames = """
        function __curlew_sessions
            set -l folder "$HOME/.config/curlew"
            if test -n "$XDG_CONFIG_HOME"; set folder "$XDG_CONFIG_HOME/curlew"; end
            if test -n "$CURLEW_CONFIG_DIR"; set folder "$CURLEW_CONFIG_DIR"; end
            find "$folder/sessions" -mindepth 2 -maxdepth 2 -name '*.json' 2>/dev/null | sed 's,.*/,,; s,\\.json$,,' | grep -x '[A-Za-z0-9._-]*' | sort -u
        end
        """

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

    /// Quotes text inside `'[…]'` of `_arguments`.
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
