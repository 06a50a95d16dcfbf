package import Foundation

/// The HTTP/3 alternatives that https origins have announced (RFC 7838), and which of them work. A value type; the time
/// is passed in.
package struct AlternativeServiceList: Sendable, Hashable, Codable {
    /// One alternative of an origin.
    package struct Service: Sendable, Hashable {
        /// `nil` is the origin's host.
        package var host: String?
        package var port: Int
        /// The date at which the announcement expires.
        package var expires: Date
        /// Whether the alternative stays valid when the network changes.
        package var persists: Bool
        /// The result of trying it in this process and on this network.
        package var trial = Trial.none
        /// The number of failures since it last worked.
        package var failures = 0
    }

    /// The result of trying an alternative.
    package enum Trial: Sendable, Hashable {
        case none
        /// One exchange is trying it; others do not use it until the result is known.
        case running(since: Date)
        case works
        case broken(until: Date)
    }

    /// The alternatives that one origin has announced.
    package struct Entry: Sendable, Hashable {
        package var services: [Service]
        /// The field's value as received, to recognize a repeated announcement.
        fileprivate var field = ""
        fileprivate var received = Date.distantPast
    }

    package private(set) var entries: [SecureOrigin: Entry]
    /// The maximum number of origins. Above it, the entries that expire first are removed.
    package let limit: Int

    /// The age from which a trial without a result is ignored, so that another exchange may try.
    package static let trialPatience: TimeInterval = 60
    /// The minimum interval at which a repeated announcement extends the expiry. Repetitions in between are ignored.
    package static let renewal: TimeInterval = 60
    /// The shortest and the longest time for which a failed alternative is avoided. Each failure in a row doubles the
    /// time.
    package static let shortestAvoidance: TimeInterval = 300
    package static let longestAvoidance: TimeInterval = 86_400
    /// The maximum number of alternatives of one origin.
    package static let maximumServices = 4

    /// Creates an empty list of at most `limit` origins.
    package init(limit: Int = 1_000) {
        entries = [:]
        self.limit = limit
    }

    package var isEmpty: Bool { entries.isEmpty }

    /// Records the `Alt-Svc` field of a response from `origin`. Returns whether the list changed.
    package mutating func receive(_ headers: HTTPHeaders, from origin: SecureOrigin, at now: Date) -> Bool {
        guard let field = headers.combinedValue(for: "Alt-Svc") else { return false }
        let known = entries[origin]
        if let known, known.field == field, now.timeIntervalSince(known.received) < Self.renewal { return false }
        switch AltSvcField(field) {
        case nil: return false
        case .clear:
            entries[origin] = nil
            return known != nil
        case .alternatives(let alternatives):
            // The age that caches report in `Age` is subtracted from the lifetime (RFC 7838, 3.1).
            let age = headers.value(for: "Age").flatMap(DeltaSeconds.parse) ?? 0
            let services = Self.services(alternatives, of: origin, insteadOf: known?.services ?? [], at: now, age: age)
            entries[origin] = services.isEmpty ? nil : Entry(services: services, field: field, received: now)
            makeRoom(at: now)
            return known != nil || !services.isEmpty
        }
    }

    private static func services(
        _ alternatives: [AltSvcField.Alternative], of origin: SecureOrigin, insteadOf known: [Service], at now: Date,
        age: Int64
    ) -> [Service] {
        var services: [Service] = []
        for alternative in alternatives where alternative.protocolID.elementsEqual("h3".utf8) {
            guard alternative.maxAge > age, services.count < maximumServices else { continue }
            let host = alternative.host == origin.host ? nil : alternative.host
            guard !services.contains(where: { $0.host == host && $0.port == alternative.port }) else { continue }
            var service = Service(
                host: host, port: alternative.port, expires: now.addingTimeInterval(Double(alternative.maxAge - age)),
                persists: alternative.persists)
            if let former = known.first(where: { $0.host == host && $0.port == alternative.port }) {
                (service.trial, service.failures) = (former.trial, former.failures)
            }
            services.append(service)
        }
        return services
    }

    private mutating func makeRoom(at now: Date) {
        guard entries.count > limit else { return }
        removeExpired(at: now)
        let expiry = { (entry: Entry) in entry.services.map(\.expires).max() ?? .distantPast }
        while entries.count > limit, let first = entries.min(by: { expiry($0.value) < expiry($1.value) }) {
            entries[first.key] = nil
        }
    }

    /// Returns the alternative for the next exchange with `origin`; `nil` if the exchange connects as usual. Starts a
    /// trial if the alternative has not proved itself, so the caller must report the result to `ended`; returns `nil`
    /// instead unless `mayTry` is true.
    package mutating func route(
        to origin: SecureOrigin, allowing freedom: AlternativeFreedom, mayTry: Bool = true, at now: Date
    ) -> AlternativeRoute? {
        guard let services = entries[origin]?.services else { return nil }
        for (index, service) in services.enumerated() {
            guard service.expires > now, freedom.permits(host: service.host, port: service.port, of: origin) else {
                continue
            }
            var route = AlternativeRoute(origin: origin, host: service.host, port: service.port, mode: .alone)
            switch service.trial {
            case .works: return route
            case .broken(let until) where until > now: continue
            // The preferred alternative is being tried, so this exchange does not start a trial of a less preferred
            // one.
            case .running(let since) where abs(now.timeIntervalSince(since)) < Self.trialPatience: return nil
            case .none, .broken, .running:
                guard mayTry else { return nil }
                entries[origin]?.services[index].trial = .running(since: now)
                if !route.isElsewhere { route.mode = .raced }
                return route
            }
        }
        return nil
    }

    /// Whether there is an alternative to use or to try.
    package func hasAlternative(for origin: SecureOrigin, at now: Date) -> Bool {
        entries[origin]?.services.contains { service in
            if case .broken(let until) = service.trial, until > now { return false }
            return service.expires > now
        } ?? false
    }

    /// Records the result of an exchange that used `route`.
    package mutating func ended(_ route: AlternativeRoute, _ end: AlternativeEnd, at now: Date) {
        guard
            let index = entries[route.origin]?.services.firstIndex(where: {
                $0.host == route.host && $0.port == route.port
            }),
            var service = entries[route.origin]?.services[index]
        else { return }
        switch end {
        case .worked: (service.trial, service.failures) = (.works, 0)
        case .undecided:
            guard case .running = service.trial else { return }
            service.trial = .none
        case .failed:
            // Exchanges that fail together count as one failure.
            if case .broken(let until) = service.trial, until > now { return }
            let avoidance = Self.shortestAvoidance * Double(1 << min(service.failures, 9))
            service.trial = .broken(until: now.addingTimeInterval(min(avoidance, Self.longestAvoidance)))
            service.failures += 1
        case .misdirected:
            entries[route.origin]?.services.remove(at: index)
            if entries[route.origin]?.services.isEmpty == true { entries[route.origin] = nil }
            return
        }
        entries[route.origin]?.services[index] = service
    }

    /// Removes the alternatives that are valid only on the previous network, and forgets whether the others worked
    /// (RFC 7838, 2.2).
    package mutating func networkChanged() {
        for (origin, entry) in entries {
            var entry = entry
            entry.services = entry.services.filter(\.persists).map { service in
                var service = service
                (service.trial, service.failures) = (.none, 0)
                return service
            }
            // A repetition of the same field must be recorded again.
            entry.field = ""
            entries[origin] = entry.services.isEmpty ? nil : entry
        }
    }

    package mutating func removeExpired(at now: Date) {
        for (origin, entry) in entries {
            var entry = entry
            entry.services.removeAll { $0.expires <= now }
            entries[origin] = entry.services.isEmpty ? nil : entry
        }
    }

    package mutating func removeAll() { entries = [:] }
}

// Only the alternatives are encoded. Trials start over after decoding, because the network may have changed.

extension AlternativeServiceList.Service: Codable {
    private enum CodingKeys: String, CodingKey { case host, port, expires, persists }
}

extension AlternativeServiceList.Entry: Codable {
    private enum CodingKeys: String, CodingKey { case services }
}
