package import Foundation

/// Dates in HTTP header fields (RFC 9110, 5.6.7). All three formats are read; the first one is written.
///
///     Sun, 06 Nov 1994 08:49:37 GMT    IMF-fixdate
///     Sunday, 06-Nov-94 08:49:37 GMT   RFC 850
///     Sun Nov  6 08:49:37 1994         asctime
package enum HTTPDate {
    /// Returns the date as IMF-fixdate, in whole seconds.
    package static func string(from date: Date) -> String {
        let parts = CivilDate(date)
        var text = CivilDate.weekday(of: date) + ", "
        text += padded(parts.day, 2) + " " + CivilDate.months[parts.month - 1] + " " + padded(parts.year, 4)
        text += " " + padded(parts.hour, 2) + ":" + padded(parts.minute, 2) + ":" + padded(parts.second, 2)
        return text + " GMT"
    }

    /// Parses a date; `nil` if `text` has none of the three formats or names a day that does not exist.
    ///
    /// A year of two digits is within fifty years of `now`.
    package static func date(from text: String, now: Date) -> Date? {
        var scanner = ByteScanner(text)
        scanner.skip(while: ASCII.isBlank)
        guard let weekday = Weekday(&scanner) else { return nil }
        var civil: CivilDate?
        if scanner.skip(", ") {
            civil = weekday.isLong ? rfc850(&scanner, now: now) : imfFixdate(&scanner)
        } else if !weekday.isLong, scanner.skip(" ") {
            civil = asctime(&scanner)
        }
        scanner.skip(while: ASCII.isBlank)
        guard scanner.isAtEnd, let civil, civil.isValid else { return nil }
        return civil.date
    }

    private static func imfFixdate(_ scanner: inout ByteScanner) -> CivilDate? {
        guard let day = scanner.number(digits: 2), scanner.skip(" "), let month = month(&scanner), scanner.skip(" "),
            let year = scanner.number(digits: 4), scanner.skip(" "), let time = time(&scanner), scanner.skip(" GMT")
        else { return nil }
        return CivilDate(
            year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
    }

    private static func rfc850(_ scanner: inout ByteScanner, now: Date) -> CivilDate? {
        guard let day = scanner.number(digits: 2), scanner.skip("-"), let month = month(&scanner), scanner.skip("-"),
            let shortYear = scanner.number(digits: 2), scanner.skip(" "), let time = time(&scanner),
            scanner.skip(" GMT")
        else { return nil }
        let thisYear = CivilDate(now).year
        var year = thisYear - thisYear % 100 + shortYear
        if year > thisYear + 50 { year -= 100 } else if year <= thisYear - 50 { year += 100 }
        return CivilDate(
            year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
    }

    private static func asctime(_ scanner: inout ByteScanner) -> CivilDate? {
        guard let month = month(&scanner), scanner.skip(" "),
            let day = scanner.skip(" ") ? scanner.number(digits: 1) : scanner.number(digits: 2), scanner.skip(" "),
            let time = time(&scanner), scanner.skip(" "), let year = scanner.number(digits: 4)
        else { return nil }
        return CivilDate(
            year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
    }

    private static func month(_ scanner: inout ByteScanner) -> Int? {
        let name = String(decoding: scanner.take(while: ASCII.isAlpha), as: UTF8.self)
        return CivilDate.months.firstIndex(of: name).map { $0 + 1 }
    }

    private static func time(_ scanner: inout ByteScanner) -> (hour: Int, minute: Int, second: Int)? {
        guard let hour = scanner.number(digits: 2), scanner.skip(":"), let minute = scanner.number(digits: 2),
            scanner.skip(":"), let second = scanner.number(digits: 2)
        else { return nil }
        return (hour, minute, second)
    }

    /// The name of a weekday. It is not compared with the date, because other recipients do not compare it either.
    private struct Weekday {
        let isLong: Bool

        init?(_ scanner: inout ByteScanner) {
            let name = String(decoding: scanner.take(while: ASCII.isAlpha), as: UTF8.self)
            guard CivilDate.weekdays.contains(String(name.prefix(3))) else { return nil }
            isLong = name.utf8.count > 3
            let long = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
            if isLong, !long.contains(name) { return nil }
        }
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
