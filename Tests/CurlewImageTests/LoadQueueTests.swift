import CurlewTesting
import Testing

@testable import CurlewImage

@Suite("The queue of loads")
struct LoadQueueTests {
    private typealias Queue = LoadQueue<String, Int>

    private func started(_ actions: [Queue.Action]) -> [String] {
        actions.compactMap { if case .start(let key, _) = $0 { key } else { nil } }
    }

    private func cancelled(_ actions: [Queue.Action]) -> [String] {
        actions.compactMap { if case .cancel(let key) = $0 { key } else { nil } }
    }

    private func generation(_ actions: [Queue.Action], _ wanted: String) -> Int? {
        actions.compactMap { if case .start(wanted, let generation) = $0 { generation } else { nil } }.first
    }

    @Test("equal keys share a load, and its receivers are served in order")
    func merging() throws {
        var queue = Queue(limit: 2, prioritization: .fifo)
        let first = queue.add(1, for: "a").actions
        #expect(started(first) == ["a"])
        #expect(queue.add(2, for: "a").actions.isEmpty)
        #expect(queue.activeCount == 1 && queue.waitingCount == 0)
        let (receivers, actions) = queue.finish("a", generation: try #require(generation(first, "a")))
        #expect(receivers == [1, 2] && actions.isEmpty && queue.activeCount == 0)
    }

    @Test(
        "the limit holds, and waiting loads start in the order of the prioritization",
        arguments: [DownloadPrioritization.fifo, .lifo])
    func order(prioritization: DownloadPrioritization) throws {
        var queue = Queue(limit: 1, prioritization: prioritization)
        var actions = queue.add(0, for: "0").actions
        for number in 1...200 { #expect(queue.add(number, for: "\(number)").actions.isEmpty) }
        var order: [String] = []
        while let key = started(actions).first {
            order.append(key)
            #expect(queue.activeCount == 1)
            actions = queue.finish(key, generation: try #require(generation(actions, key))).actions
        }
        let rest = prioritization == .fifo ? Array(1...200) : (1...200).reversed()
        #expect(order == (["0"] + rest.map { "\($0)" }))
    }

    @Test("a load is cancelled when its last receiver leaves")
    func leaving() throws {
        var queue = Queue(limit: 1, prioritization: .fifo)
        let (one, actions) = queue.add(1, for: "a")
        let (two, _) = queue.add(2, for: "a")
        let (waiting, _) = queue.add(3, for: "b")
        _ = queue.add(4, for: "c")
        #expect(queue.remove(one)?.receiver == 1)
        #expect(queue.remove(one) == nil)
        let removed = queue.remove(waiting)
        let left = try #require(removed)
        #expect(left.actions.isEmpty, "it had not begun")
        let last = queue.remove(two)
        let end = try #require(last)
        #expect(cancelled(end.actions) == ["a"] && started(end.actions) == ["c"])
        #expect(queue.finish("a", generation: try #require(generation(actions, "a"))).receivers.isEmpty)
        #expect(queue.activeCount == 1 && queue.waitingCount == 0)
    }

    @Test("a load that is requested again after its cancellation is a new load")
    func generations() throws {
        var queue = Queue(limit: 1, prioritization: .fifo)
        let (ticket, old) = queue.add(1, for: "a")
        _ = queue.remove(ticket)
        let (_, new) = queue.add(2, for: "a")
        let (former, present) = (try #require(generation(old, "a")), try #require(generation(new, "a")))
        #expect(!queue.isRunning("a", generation: former) && queue.isRunning("a", generation: present))
        #expect(queue.finish("a", generation: former).receivers.isEmpty)
        #expect(queue.receivers(of: "a", generation: present).map(\.receiver) == [2])
        #expect(queue.finish("a", generation: present).receivers == [2])
    }

    @Test("random operations never exceed the limit, and no load is lost or started twice")
    func randomUse() {
        var random = SplitMix(seed: 7)
        var queue = Queue(limit: 3, prioritization: .lifo)
        var tickets: [Queue.Ticket: Int] = [:]
        var running: [(key: String, generation: Int)] = []
        var served: Set<Int> = []
        var left: Set<Int> = []
        func apply(_ actions: [Queue.Action]) {
            for action in actions {
                switch action {
                case .start(let key, let generation): running.append((key, generation))
                case .cancel(let key): running.removeAll { $0.key == key }
                }
            }
        }
        for number in 0..<20_000 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let (ticket, actions) = queue.add(number, for: "\(Int.random(in: 0..<30, using: &random))")
                tickets[ticket] = number
                apply(actions)
            case 2:
                guard let ticket = tickets.keys.randomElement(using: &random), let number = tickets[ticket] else {
                    break
                }
                tickets[ticket] = nil
                if let (receiver, actions) = queue.remove(ticket) {
                    #expect(receiver == number && left.insert(number).inserted)
                    apply(actions)
                } else {
                    #expect(served.contains(number))
                }
            default:
                guard let load = running.randomElement(using: &random) else { break }
                running.removeAll { $0.key == load.key }
                let (receivers, actions) = queue.finish(load.key, generation: load.generation)
                #expect(!receivers.isEmpty)
                for receiver in receivers { #expect(served.insert(receiver).inserted && !left.contains(receiver)) }
                apply(actions)
            }
            #expect(queue.activeCount <= 3 && queue.activeCount == running.count)
        }
        while let load = running.popLast() {
            let (receivers, actions) = queue.finish(load.key, generation: load.generation)
            for receiver in receivers { #expect(served.insert(receiver).inserted) }
            apply(actions)
        }
        #expect(queue.activeCount == 0 && queue.waitingCount == 0)
        #expect(Set(tickets.values).isSubset(of: served))
    }
}
