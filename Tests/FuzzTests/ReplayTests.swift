#if !FUZZING
internal import Foundation
internal import Testing

@Suite("Properties of the parsers", .timeLimit(.minutes(2)))
struct ReplayTests {
    @Test(
        "the properties of a parser hold for its seeds, for inputs that once broke them and for mutations",
        arguments: FuzzTarget.all)
    func properties(of target: FuzzTarget) throws {
        let seeds = try Seeds.of(target)
        try #require(!seeds.isEmpty)
        var failures: [String] = []
        func run(_ bytes: [UInt8]) {
            do { try target.run(bytes) } catch {
                failures.append("\(error) for \(Data(bytes).base64EncodedString())")
            }
        }
        for seed in try Seeds.own(target) { run(seed) }
        var mutator = Mutator(seeds: seeds, seed: 1)
        // The vectors have thousands of strings, so this runs about 300 of them, spread evenly.
        for index in stride(from: 0, to: seeds.count, by: max(1, seeds.count / 300)) { run(seeds[index]) }
        for _ in 0..<500 { run(mutator.next()) }
        #expect(failures.prefix(3) == [])
    }

    @Test func everyTargetHasSeeds() throws {
        let names = FuzzTarget.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(try Set(names) == Set(Seeds.sources().keys))
    }
}
#endif
