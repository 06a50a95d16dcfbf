import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Stored alternative services")
struct AlternativeServiceStoreTests {
    private let url = URL(string: "https://a.example/path")!
    private let origin = SecureOrigin(host: "a.example", port: 443)
    private let announced: HTTPHeaders = ["Alt-Svc": "h3=\":443\"; ma=1000"]

    @Test func announcedAlternativeIsStored() {
        let store = AlternativeServiceStore()
        #expect(store.isEmpty && !store.hasAlternative(for: url))
        store.receive(announced, from: origin)
        #expect(store.hasAlternative(for: url))
        #expect(!store.hasAlternative(for: URL(string: "http://a.example/")!))
        #expect(!store.hasAlternative(for: URL(string: "https://a.example:444/")!))
        store.removeAll()
        #expect(store.isEmpty)
    }

    @Test func alternativesAreKeptInAFile() async throws {
        let file = URL.temporaryDirectory.appending(path: "alternatives-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let store = AlternativeServiceStore(file: file)
        store.receive(announced, from: origin)
        try await store.save()
        #expect(AlternativeServiceStore(file: file).hasAlternative(for: url))
        try Data("nonsense".utf8).write(to: file)
        #expect(!AlternativeServiceStore(file: file).hasAlternative(for: url))
    }

    @Test func networkChangeKeepsOnlyPersistentAlternatives() {
        let store = AlternativeServiceStore()
        store.receive(announced, from: origin)
        store.networkChanged()
        #expect(store.isEmpty)
        store.receive(["Alt-Svc": "h3=\":443\"; ma=1000; persist=1"], from: origin)
        store.networkChanged()
        #expect(store.hasAlternative(for: url))
    }

    @Test func alternativeServiceStoreIsPassedToTransport() {
        let store = AlternativeServiceStore()
        let configuration = SessionConfiguration {
            $0.alternativeServices = store
            $0.allowsExperimentalHTTP3 = true
        }
        #expect(configuration.transport.alternativeServices === store)
        #expect(configuration.transport.allowsExperimentalHTTP3)
        #expect(SessionConfiguration { $0.alternativeServices = nil }.transport.alternativeServices == nil)
    }
}
