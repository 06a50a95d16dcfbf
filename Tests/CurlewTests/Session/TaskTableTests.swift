import CurlewCore
import Testing

@testable import Curlew

struct TaskTableTests {
    private func task(_ number: UInt64) -> TaskIdentifier { TaskIdentifier(rawValue: number) }

    @Test func whatIsPutInIsFoundUntilItIsTakenOut() {
        var table = TaskTable<String>()
        #expect(table[task(1)] == nil)
        table.insert("a", for: task(1))
        table.insert("b", for: task(2))
        #expect(table[task(1)] == "a")
        #expect(table.values.sorted() == ["a", "b"])
        table.insert("c", for: task(1))
        #expect(table[task(1)] == "c")
        #expect(table.count == 2)
        table.remove(task(1))
        table.remove(task(1))
        table.remove(task(0))
        #expect(table[task(1)] == nil)
        #expect(table.values == ["b"])
        #expect(table.count == 1)
    }

    /// Identifiers are issued in sequence, and tasks last any time: the table must find old tasks among removed ones.
    @Test(arguments: [1, 7, 60, 1000])
    func itHoldsWhatADictionaryHolds(_ inFlight: Int) {
        var table = TaskTable<UInt64>()
        var dictionary: [UInt64: UInt64] = [:]
        var live: [UInt64] = []
        for number in UInt64(1)...20_000 {
            table.insert(number, for: task(number))
            dictionary[number] = number
            live.append(number)
            while live.count > inFlight {
                // Removes an old task in one round and a recent one in another.
                let gone = live.remove(at: Int(number &* 0x9E37_79B9 % UInt64(live.count)))
                table.remove(task(gone))
                dictionary[gone] = nil
            }
            if number % 997 == 0 {
                #expect(table.values.sorted() == dictionary.keys.sorted())
                #expect(live.allSatisfy { table[task($0)] == $0 })
            }
        }
        for number in live { table.remove(task(number)) }
        #expect(table.count == 0)
        #expect(table.values.isEmpty)
    }
}
