import CurlewLocks
import Testing

@Suite(.timeLimit(.minutes(4)))
struct UsuallyEmptyLockTests {
    @Test func isEmptyFollowsEveryChange() {
        let words = UsuallyEmptyLock<[String]>([], isEmpty: \.isEmpty)
        #expect(words.isEmpty)
        words.withLock { $0.append("one") }
        #expect(!words.isEmpty)
        #expect(words.withLock { $0.popLast() } == "one")
        #expect(words.isEmpty)
        #expect(!UsuallyEmptyLock(["there from the beginning"], isEmpty: \.isEmpty).isEmpty)
    }

    @Test func storageIsNotEmptyAfterOwnInsertion() async {
        let words = UsuallyEmptyLock<[Int]>([], isEmpty: \.isEmpty)
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<8 {
                group.addTask {
                    var isSeen = true
                    for _ in 0..<2_000 {
                        words.withLock { $0.append(number) }
                        // Only this task removes its number, so the storage cannot be empty here.
                        isSeen = isSeen && !words.isEmpty
                        words.withLock { words in _ = words.firstIndex(of: number).map { words.remove(at: $0) } }
                    }
                    return isSeen
                }
            }
            for await isSeen in group { #expect(isSeen) }
        }
        #expect(words.isEmpty)
    }
}
