import Testing

@testable import Curlew

@Suite("Lists of few elements")
struct ShortListTests {
    @Test("a short list contains the appended elements in order", arguments: 0...5)
    func order(count: Int) {
        var list = ShortList<Int>()
        for number in 0..<count { list.append(number) }
        #expect(list.all == Array(0..<count))
        #expect(list.count == count)
        #expect(list.isEmpty == (count == 0))
        #expect(list.first == list.all.first)
        #expect(list.last == list.all.last)
        for number in 0..<count { #expect(list[number] == number) }
    }
}
