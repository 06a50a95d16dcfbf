package import Foundation

/// Other ways by HTTP/3 to https origins (RFC 7838), and which of them work, as a value with time passed in.
package struct AlternativeServiceList: Sendable, Hashable, Codable {
    /// One way.
    package struct Service: Sendable, Hashable {
        /// nil is the origin's own.
        package var host: String?
        package var port: Int
        /// When it is to be forgotten.
        package var expires: Date
        /// Holds in other networks, too.
        package var persists: Bool
        /// What is known of it in this process and in this network.
        package var trial = Trial.none
        /// How often it has failed since it last worked.
        package var failures = 0
    }

    /// Whether a way works.
    package enum Trial: Sendable, Hashable {
        case none
        /// One exchange finds out, and the others do without meanwhile.
        case running(since: Date)
        case works
        case broken(until: Date)
    }

    /// What an origin has announced.
    package struct Entry: Sendable, Hashable {
        package var services: [Service]
        /// The field as it came, to know it again.
        fileprivate var field = ""
        fileprivate var received = Date.distantPast
    }

    package private(set) var entries: [SecureOrigin: Entry]
    /// Most origins; above that those go that expire first.
    package let limit: Int

    /// A trial whose end has not been reported.
    package static let trialPatience: TimeInterval = 60
    /// A field that says the same again prolongs what it says, but not each time it comes.
    package static let renewal: TimeInterval = 60
    /// How long a broken alternative is left alone: at first, and at most. Each failure doubles it.
    package static let shortestAvoidance: TimeInterval = 300
    package static let longestAvoidance: TimeInterval = 86_400
    /// Most alternatives of one origin.
    package static let maximumServices = 4

    /// Makes a list, of at most `limit` origins.
    package init(limit: Int = 1_000) {
        entries = [:]
        self.limit = limit
    }

    package var isEmpty: Bool { entries.isEmpty }

    /// Takes in the `Alt-Svc` of a response from `origin`. Whether anything is other than before.
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
            // What has been on its way to here for some time is that much older (RFC 7838, 3.1).
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

    /// The way that the next exchange with `origin` takes; nil is the usual one.
    package mutating func route(to origin: SecureOrigin, allowing freedom: AlternativeFreedom, at now: Date)
        -> AlternativeRoute?
    {
        guard let services = entries[origin]?.services else { return nil }
        for (index, service) in services.enumerated() {
            guard service.expires > now, service.host == nil || freedom == .anyHost else { continue }
            var route = AlternativeRoute(origin: origin, host: service.host, port: service.port, mode: .alone)
            switch service.trial {
            case .works: return route
            case .broken(let until) where until > now: continue
            // A trial of the best one is under way: the next best need not be tried at the same time.
            case .running(let since) where abs(now.timeIntervalSince(since)) < Self.trialPatience: return nil
            case .none, .broken, .running:
                entries[origin]?.services[index].trial = .running(since: now)
                if !route.isElsewhere { route.mode = .raced }
                return route
            }
        }
        return nil
    }

    /// Whether there is an alternative to be used or tried.
    package func hasAlternative(for origin: SecureOrigin, at now: Date) -> Bool {
        entries[origin]?.services.contains { service in
            if case .broken(let until) = service.trial, until > now { return false }
            return service.expires > now
        } ?? false
    }

    /// What an exchange found out about its way.
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
            // Exchanges that failed together count once.
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

    /// What held in one network need not in another (RFC 7838, 2.2).
    package mutating func networkChanged() {
        for (origin, entry) in entries {
            var entry = entry
            entry.services = entry.services.filter(\.persists).map { service in
                var service = service
                (service.trial, service.failures) = (.none, 0)
                return service
            }
            // The same field says something again.
            entry.field = ""
            entries[origin] = entry.services.isEmpty ? nil : entry
        }
    }

    /// Forgets the entries that have expired.
    package mutating func removeExpired(at now: Date) {
        for (origin, entry) in entries {
            var entry = entry
            entry.services.removeAll { $0.expires <= now }
            entries[origin] = entry.services.isEmpty ? nil : entry
        }
    }

    /// Forgets every entry.
    package mutating func removeAll() { entries = [:] }
}

// What is kept says where alternatives are. Whether they work is found out anew: the network may be another.

extension AlternativeServiceList.Service: Codable {
    private enum CodingKeys: String, CodingKey { case host, port, expires, persists }
}

extension AlternativeServiceList.Entry: Codable {
    private enum CodingKeys: String, CodingKey { case services }
}
