import Testing

@testable import Curlew

/// The list of what happened in each try.
struct SequelTests {
    @Test(arguments: 0...5)
    func isAList(_ count: Int) {
        var sequel = Sequel<Int>()
        for number in 0..<count { sequel.append(number) }
        #expect(sequel.all == Array(0..<count))
        #expect(sequel.count == count)
        #expect(sequel.isEmpty == (count == 0))
        #expect(sequel.first == (count > 0 ? 0 : nil))
        #expect(sequel.last == (count > 0 ? count - 1 : nil))
        for number in 0..<count { #expect(sequel[number] == number) }
    }
}
