import Testing

@testable import CurlewTool

@Suite("Amounts")
struct AmountTests {
    @Test(arguments: [
        (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1_048_575, "1.0 MiB"),
        (1_048_576, "1.0 MiB"),
        (-5, "0 B"), (Int64.max, "8.0 EiB"),
    ])
    func writesBytes(_ count: Int64, _ expected: String) { #expect(Amount.bytes(count) == expected) }

    @Test(arguments: [
        (0, "0:00"), (0.2, "0:01"), (59, "0:59"), (60, "1:00"), (754, "12:34"), (3723, "1:02:03"),
        (Double.infinity, "-:--"),
        (1e9, "-:--"),
    ])
    func writesClocks(_ seconds: Double, _ expected: String) { #expect(Amount.clock(seconds) == expected) }

    @Test(arguments: [(0.00087, "870 µs"), (0.0123, "12.3 ms"), (0.5, "500 ms"), (1.234, "1.23 s"), (0.9999, "1.00 s")])
    func writesTimes(_ seconds: Double, _ expected: String) { #expect(Amount.time(seconds) == expected) }

    @Test func writesNumbersBeyondAll() {
        #expect(Amount.fixed(1e300, digits: 0) == "9000000000000000000")
        #expect(Amount.fixed(-.infinity, digits: 2) == "-90000000000000000.00")
        #expect(Amount.rate(.infinity) == "7.8 EiB/s")
    }
}

@Suite("Rates")
struct RateMeterTests {
    @Test func rateCoversTheLastSeconds() {
        var meter = RateMeter(window: 5)
        #expect(meter.bytesPerSecond == nil)
        for second in 0...10 { meter.record(Int64(second) * 100, at: Double(second)) }
        #expect(meter.bytesPerSecond == 100)
        for second in 11...20 { meter.record(1000 + Int64(second - 10) * 500, at: Double(second)) }
        #expect(meter.bytesPerSecond == 500)
    }

    @Test func rateStartsOverIfTheCountFalls() {
        var meter = RateMeter()
        meter.record(1000, at: 0)
        meter.record(2000, at: 1)
        meter.record(0, at: 2)
        #expect(meter.bytesPerSecond == nil)
        meter.record(10, at: 3)
        #expect(meter.bytesPerSecond == 10)
    }
}

@Suite("Progress bars")
struct ProgressLineTests {
    private let line = ProgressLine(palette: Palette(isColored: false), hasUnicode: false)

    private func running(_ completed: Int64, of total: Int64?, name: String = "file.iso") -> TransferSnapshot {
        TransferSnapshot(
            name: name, completed: completed, total: total, bytesPerSecond: 1024, elapsed: 1, state: .running)
    }

    @Test func progressLineShowsRunningTransfer() {
        let text = line.render(running(5120, of: 10240), width: 90, nameWidth: 10)
        #expect(text == "file.iso    50% =============-------------  5.0 KiB of 10.0 KiB        1.0 KiB/s     0:05")
        #expect(text.count <= 90)
    }

    @Test func progressIsShownIfClockWasSetBack() {
        var snapshot = running(10, of: nil)
        snapshot.elapsed = -3600
        #expect(line.render(snapshot, width: 80, nameWidth: 8).contains("10 B"))
    }

    @Test func progressLineShowsFinishedTransfer() {
        var snapshot = running(10240, of: 10240)
        #expect(line.render(snapshot, width: 80, nameWidth: 10).contains(" 99% "))
        snapshot.state = .done
        let text = line.render(snapshot, width: 80, nameWidth: 10)
        #expect(text.contains("100% ====="))
        #expect(text.contains("10.0 KiB/s"))
        #expect(text.hasSuffix("in 1.00 s"))
    }

    @Test("no line is wider than the terminal", arguments: [20, 21, 30, 40, 50, 60, 79, 80, 120, 300])
    func fits(_ width: Int) {
        let names = [
            "f", "a-rather-long-file-name-that-is-a-chore-to-type.tar.gz", "東京都の地図とデータの一覧表.tar.gz",
            "👩‍👩‍👧‍👦🇯🇵❤️ holiday.jpg", "e\u{301}te\u{301}",
        ]
        for name in names {
            for total in [nil, 0, 10, 1 << 40] as [Int64?] {
                var snapshot = running(total ?? 1 << 35, of: total, name: name)
                for state in [.waiting, .running, .done, .failed("the connection broke")] as [TransferSnapshot.State] {
                    snapshot.state = state
                    let text = line.render(snapshot, width: width, nameWidth: min(20, width / 3))
                    #expect(Columns.count(text) <= width, "\(text)")
                }
            }
        }
    }

    @Test("names are cut and filled by columns, not by characters")
    func fitsWideNames() {
        #expect(ProgressLine.fitted("地図.zip", 12) == "地図.zip    ")
        #expect(ProgressLine.fitted("東京都の地図.zip", 9) == "東京….zip")
        // A wide character does not fit in the one column that is left, so a space fills it.
        #expect(ProgressLine.fitted("東京都の地図", 10) == "東京…地図 ")
        #expect(ProgressLine.fitted("e\u{301}te\u{301}", 4) == "e\u{301}te\u{301} ")
        var board = ProgressBoard(line: line)
        let names = ["東京都の地図.zip", "map.zip"]
        let rows = board.frame(names.map { running(1, of: 4, name: $0) }, width: 60, height: 20).split(separator: "\n")
        #expect(rows.map { Columns.count($0.prefix { $0 != "%" }) } == [20, 20])
        #expect(rows.allSatisfy { $0.hasPrefix("東京都の地図.zip  25%") || $0.hasPrefix("map.zip           25%") })
    }

    @Test(
        "the columns of a text are counted as terminals count them",
        arguments: [
            ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("漢字", 4), ("ｱ", 1), ("Ａ", 2), ("한글", 4), ("😀", 2),
            ("❤", 1), ("❤\u{FE0F}", 2), ("🇯🇵", 2), ("─━█…", 4), ("a\u{200B}b", 2), ("नि", 2), ("ไม้", 2), ("〿", 1),
        ])
    func countsColumns(_ text: String, _ expected: Int) { #expect(Columns.count(text) == expected) }

    @Test func progressBoardEscapesControlCharacters() {
        var board = ProgressBoard(line: line)
        var failed = running(1, of: 4, name: "a\u{1B}[2Jb\nc\u{9B}")
        failed.state = .failed("no\tnews\u{7}")
        let picture = board.frame([failed], width: 80, height: 20)
        #expect(picture == "a\\x1b[2Jb\\x0ac\\u{9b} no\\x09news\\x07\n")
    }

    @Test func progressLineShowsFailure() {
        var snapshot = running(1, of: 2)
        snapshot.state = .failed("not found (404)")
        #expect(line.render(snapshot, width: 40, nameWidth: 10) == "file.iso   not found (404)")
    }

    @Test func progressBoardIsRedrawnInPlace() {
        var board = ProgressBoard(line: line)
        let first = board.frame([running(1, of: 4), running(2, of: 4)], width: 60, height: 20)
        #expect(first.split(separator: "\n").count == 2)
        #expect(!first.contains("\u{1B}"))
        let second = board.frame([running(2, of: 4), running(3, of: 4)], width: 60, height: 20)
        #expect(second.hasPrefix("\u{1B}[2A\r\u{1B}[J"))
        #expect(board.clear() == "\u{1B}[2A\r\u{1B}[J")
        #expect(board.clear() == "")
    }

    @Test func runningTransfersAreShownFirstIfSpaceIsShort() {
        var snapshots = (0..<10).map { running(1, of: 4, name: "f\($0)") }
        for index in 0..<5 { snapshots[index].state = .done }
        #expect(ProgressBoard.visible(snapshots, rows: 4).map(\.name) == ["f5", "f6", "f7", "f8"])
    }

    @Test func writesPlainLines() {
        var plain = PlainProgress()
        var snapshot = running(0, of: 1000)
        snapshot.elapsed = 0
        #expect(plain.lines(for: [snapshot]).count == 1)
        snapshot.completed = 50
        #expect(plain.lines(for: [snapshot]).isEmpty)
        snapshot.completed = 250
        snapshot.elapsed = 2
        #expect(plain.lines(for: [snapshot]) == ["file.iso: 25%, 250 B of 1000 B, 1.0 KiB/s, 0:01 left"])
        snapshot.state = .done
        snapshot.completed = 1000
        #expect(plain.lines(for: [snapshot]) == ["file.iso: done, 1000 B in 2.00 s (500 B/s)"])
        #expect(plain.lines(for: [snapshot]).isEmpty)
    }
}
