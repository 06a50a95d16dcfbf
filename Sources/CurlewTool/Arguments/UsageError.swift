/// A command that cannot be carried out as written.
struct UsageError: Error, Equatable, Sendable {
    let message: String
    /// Advice on the correct spelling or another option.
    let hint: String?

    init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }
}

/// Finds the word that was probably meant.
enum Suggestion {
    /// Returns the nearest candidate. `nil` if none is within a third of the word's length, or within one edit if the
    /// word is shorter than six letters. A candidate that begins with the word counts as one edit away, if the
    /// word has three or more letters.
    static func closest(to word: String, in candidates: [String]) -> String? {
        let word = word.lowercased()
        guard word.count > 1 else { return nil }
        let limit = max(1, word.count / 3)
        var best: (word: String, distance: Int)?
        for candidate in candidates {
            let isBeginning = word.count >= 3 && candidate.hasPrefix(word)
            let distance = isBeginning ? 1 : distance(Array(word.utf8), Array(candidate.lowercased().utf8))
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.word
    }

    /// Returns the number of insertions, deletions, substitutions and swaps of neighbours that turn one word into the
    /// other.
    static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforePrevious: [Int] = []
        var previous = Array(0...right.count)
        for i in left.indices {
            var current = [i + 1]
            for j in right.indices {
                var cost = min(
                    previous[j + 1] + 1,
                    current[j] + 1,
                    previous[j] + (left[i] == right[j] ? 0 : 1)
                )
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    cost = min(cost, beforePrevious[j - 1] + 1)
                }
                current.append(cost)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[right.count]
    }
}
