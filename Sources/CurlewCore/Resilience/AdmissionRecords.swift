/// The limits and the circuit of all requests with one name.
struct AdmissionRecord: Sendable {
    let name: String
    /// A state for each part of the rate limit. Only the parts that requests with this name use differ from new ones.
    var rates: [AdmissionRate]
    var quota = ServerQuota()
    /// `nil` before the first request that takes a place.
    var places: ConcurrencyLimiter?
    /// `nil` before the first request that uses the circuit.
    var circuit: CircuitState?
    /// The number of uses by requests that wait or are in flight. A request may use a record for several parts.
    var uses = 0

    /// Whether the record can be forgotten: nobody uses it, and it equals a new one or was not used for long. This
    /// forgets the latency and the limit that an adaptive limit has learned.
    func isIdle(at now: Duration) -> Bool {
        uses == 0 && rates.allSatisfy { $0.isIdle(at: now) } && quota.isIdle(at: now)
            && (circuit?.isIdle(at: now) ?? true)
    }
}

/// The records of all names. A name is looked up once for each request; after that, its number finds the record.
///
/// A record keeps its number while a request uses it. The numbers of removed records are given to other names.
struct AdmissionRecords: Sendable {
    /// The numbers of the records that a request uses.
    struct Numbers: Sendable, Hashable {
        /// For each part of the rate limit.
        var rates: [Int] = []
        var quota: Int?
        var places: Int?
        var circuit: Int?
    }

    private var numbers: [String: Int] = [:]
    /// By number. Read and changed in place: over a `_read` accessor, Swift 6.3 without optimization copies a circuit from
    /// memory that was freed.
    var list: [AdmissionRecord] = []
    /// The numbers of removed records.
    private var free: [Int] = []
    private let newRates: [AdmissionRate]

    init(_ rateLimit: RateLimit?) { newRates = rateLimit?.parts.map(AdmissionRate.init) ?? [] }

    /// The number of names.
    var count: Int { numbers.count }

    func number(of name: String) -> Int? { numbers[name] }

    /// Returns the number of a name, which has a record from now on. Most requests have one name for all limits, so
    /// `last`, the number of the request's previous name, is compared first.
    private mutating func number(of name: String, orLast last: Int?) -> Int {
        if let last, list[last].name == name { return last }
        if let number = numbers[name] { return number }
        let number = free.popLast() ?? list.count
        let record = AdmissionRecord(name: name, rates: newRates)
        if number < list.count { list[number] = record } else { list.append(record) }
        numbers[name] = number
        return number
    }

    /// Removes the records that are idle, and returns their numbers.
    mutating func removeIdle(at now: Duration) -> Set<Int> {
        let idle = Set(numbers.values.filter { list[$0].isIdle(at: now) })
        numbers = numbers.filter { !idle.contains($0.value) }
        // Records after the last one in use are released, and those between are emptied until another name has them.
        let kept = Set(numbers.values)
        let end = (kept.max() ?? -1) + 1
        list = (0..<end).map { kept.contains($0) ? list[$0] : AdmissionRecord(name: "", rates: []) }
        // The lowest number is used first, so that the next sweep can release as many as possible.
        free = (0..<end).reversed().filter { !kept.contains($0) }
        return idle
    }

    /// Calls `body` with each record.
    func forEach(_ body: (AdmissionRecord) -> Void) {
        for number in numbers.values { body(list[number]) }
    }

    // MARK: The records of one request

    mutating func numbers(of keys: AdmissionKeys) -> Numbers {
        var numbers = Numbers()
        var last: Int?
        numbers.rates = keys.rates.map { name in
            let number = self.number(of: name, orLast: last)
            last = number
            return number
        }
        if let name = keys.quota {
            numbers.quota = number(of: name, orLast: last)
            last = numbers.quota
        }
        if let name = keys.places {
            numbers.places = number(of: name, orLast: last)
            last = numbers.places
        }
        if let name = keys.circuit { numbers.circuit = number(of: name, orLast: last) }
        return numbers
    }

    /// Keeps the records of a request that waits or is in flight.
    mutating func use(_ numbers: Numbers) { addUses(1, of: numbers) }

    mutating func release(_ numbers: Numbers) { addUses(-1, of: numbers) }

    private mutating func addUses(_ count: Int, of numbers: Numbers) {
        for number in numbers.rates { list[number].uses += count }
        if let number = numbers.quota { list[number].uses += count }
        if let number = numbers.places { list[number].uses += count }
        if let number = numbers.circuit { list[number].uses += count }
    }

    /// Returns the time at which the limits permit one more request: `now` if at once, `nil` if another request has to
    /// end first.
    func opens(_ numbers: Numbers, at now: Duration) -> Duration? {
        if let number = numbers.places, list[number].places?.hasPlace == false { return nil }
        return rateTurn(numbers, at: now) { $0.opens(at: now) }
    }

    /// Returns the latest of the times that `turn` gives for each rate and that the server permits.
    func rateTurn(_ numbers: Numbers, at now: Duration, _ turn: (AdmissionRate) -> Duration) -> Duration {
        var latest = now
        for (part, number) in numbers.rates.enumerated() { latest = max(latest, turn(list[number].rates[part])) }
        if let number = numbers.quota { latest = max(latest, list[number].quota.opens(at: now)) }
        return latest
    }
}
