import CurlewTesting
import Testing

@testable import CurlewTransport

@Suite("Deadline heap")
struct DeadlineHeapTests {
    private final class Holder: DeadlineHolder {
        var deadlineIndex = -1
        let number: Int

        init(_ number: Int) { self.number = number }
    }

    @Test(arguments: [1, 2, 3, 10, 100, 1000]) func heapReturnsEarliestDeadlineFirst(_ count: Int) {
        var heap = DeadlineHeap<Holder>()
        var random = SplitMix(seed: UInt64(count))
        let holders = (0..<count).map { Holder($0) }
        var deadlines = holders.map { _ in UInt64.random(in: 1...1000, using: &random) }
        for holder in holders { heap.set(holder, to: LoopInstant(nanoseconds: deadlines[holder.number])) }
        for holder in holders where Bool.random(using: &random) {
            deadlines[holder.number] = UInt64.random(in: 1...1000, using: &random)
            heap.set(holder, to: LoopInstant(nanoseconds: deadlines[holder.number]))
        }
        var removed = Set<Int>()
        for holder in holders where Int.random(in: 0..<4, using: &random) == 0 {
            heap.remove(holder)
            removed.insert(holder.number)
            #expect(holder.deadlineIndex == -1)
        }
        var seen: [UInt64] = []
        while let holder = heap.due(at: .never) {
            #expect(heap.earliest.nanoseconds == deadlines[holder.number])
            seen.append(deadlines[holder.number])
            heap.remove(holder)
        }
        #expect(seen == holders.filter { !removed.contains($0.number) }.map { deadlines[$0.number] }.sorted())
        #expect(heap.earliest == .never)
    }

    @Test func heapReturnsNoDeadlineBeforeItsTime() {
        var heap = DeadlineHeap<Holder>()
        let holder = Holder(0)
        heap.set(holder, to: LoopInstant(nanoseconds: 10))
        #expect(heap.due(at: LoopInstant(nanoseconds: 9)) == nil)
        #expect(heap.due(at: LoopInstant(nanoseconds: 10)) === holder)
        heap.set(holder, to: .never)
        #expect(heap.earliest == .never && heap.due(at: .never) == nil)
    }
}
