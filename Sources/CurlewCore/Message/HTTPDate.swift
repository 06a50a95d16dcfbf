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

/// The time after which a server wants to be asked again (RFC 9110, 10.2.3).
package enum RetryAfter {
    /// Returns the delay that a Retry-After value of seconds or a date asks for, at most `maximum`. `nil` if the value
    /// is neither, or a date in the past.
    package static func delay(_ value: String, now: Date, maximum: Duration = .seconds(86_400)) -> Duration? {
        if let seconds = DeltaSeconds.parse(value) { return min(.seconds(seconds), maximum) }
        guard let date = HTTPDate.date(from: value, now: now) else { return nil }
        let interval = date.timeIntervalSince(now)
        guard interval >= 0 else { return nil }
        return min(.milliseconds(Int64(min(interval, Double(DeltaSeconds.maximum)) * 1000)), maximum)
    }
}

/// A number of seconds in a header (RFC 9111, 1.2.2): digits only. Numbers that are too large are reduced, not refused.
package enum DeltaSeconds {
    /// 2^31, the value that the RFC recommends for numbers that do not fit.
    package static let maximum: Int64 = 2_147_483_648

    package static func parse(_ text: String) -> Int64? {
        let bytes = ASCII.trimmingBlanks(Array(text.utf8)[...])
        guard !bytes.isEmpty, bytes.allSatisfy(ASCII.isDigit) else { return nil }
        return min(ASCII.number(bytes) ?? maximum, maximum)
    }
}

/// A moment in UTC in the proleptic Gregorian calendar. Foundation's calendars are not used, because they are slow and
/// depend on the user's settings.
struct CivilDate {
    var year: Int
    var month: Int
    var day: Int
    var hour = 0
    var minute = 0
    var second = 0

    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    /// Begins with Thursday, the weekday of 1 January 1970.
    static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

    init(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    init(_ date: Date) {
        let seconds = Self.wholeSeconds(date)
        let (days, rest) = Self.days(in: seconds)
        // Days are counted from 1 March of year 0, so that a leap day is the last day of its year.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        hour = rest / 3600
        minute = rest / 60 % 60
        second = rest % 60
    }

    /// Whether the day and the time exist.
    var isValid: Bool {
        (1...12).contains(month) && day >= 1 && day <= Self.length(ofMonth: month, year: year)
            && (0...23).contains(hour) && (0...59).contains(minute) && (0...59).contains(second)
    }

    var date: Date { Date(timeIntervalSince1970: Double(secondsSince1970)) }

    private var secondsSince1970: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        return days * 86_400 + hour * 3600 + minute * 60 + second
    }

    static func weekday(of date: Date) -> String {
        let remainder = days(in: wholeSeconds(date)).days % 7
        return weekdays[remainder < 0 ? remainder + 7 : remainder]
    }

    /// Returns the seconds since 1970. Dates beyond year ±30 000 are limited to it: HTTP does not use them, and the
    /// conversion to Int would trap.
    private static func wholeSeconds(_ date: Date) -> Int {
        let limit = 900_000_000_000.0
        return Int(max(-limit, min(limit, date.timeIntervalSince1970)).rounded(.down))
    }

    private static func days(in seconds: Int) -> (days: Int, rest: Int) {
        let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        return (days, seconds - days * 86_400)
    }

    private static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }
}
