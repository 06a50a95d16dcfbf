import Configuration
import Curlew
import CurlewConfiguration
import Foundation
import Testing

struct SessionConfigurationTests {
    private func reader(_ values: [AbsoluteConfigKey: ConfigValue]) -> ConfigReader {
        ConfigReader(provider: InMemoryProvider(values: values))
    }

    @Test func absentKeysLeaveTheDefaults() throws {
        let configuration = try SessionConfiguration(reader: reader([:]))
        #expect(configuration.timeouts == SessionConfiguration.default.timeouts)
        #expect(configuration.maximumConnections == SessionConfiguration.default.maximumConnections)
        let base = SessionConfiguration { $0.maximumConnections = 3 }
        #expect(try SessionConfiguration(reader: reader([:]), base: base).maximumConnections == 3)
    }

    @Test func everyKeyIsRead() throws {
        let configuration = try SessionConfiguration(
            reader: reader([
                "http.baseURL": "https://api.example.com/v1", "http.timeouts.connectSeconds": 2,
                "http.timeouts.firstByteSeconds": 2.5, "http.timeouts.idleSeconds": "none",
                "http.timeouts.totalSeconds": 10, "http.timeouts.queueSeconds": 0.5, "http.maximumConnections": 64,
                "http.maximumConnectionsPerHost": 8, "http.connectionIdleLifetimeSeconds": 30,
                "http.maximumConnectionAgeSeconds": 600, "http.maximumBodySize": 1024, "http.maximumHeaderSize": 2048,
                "http.httpVersion": "http1.1", "http.redirects.limit": 0, "http.tls.trustRootsFile": "/etc/roots.pem",
                "http.tls.certificateFile": "/etc/own.pem", "http.tls.keyFile": "/etc/own.key",
                "http.tls.minimumVersion": "1.3", "http.addressPolicy": "publicOnly", "http.userAgent": "shop/1",
            ]).scoped(to: "http"))
        #expect(configuration.baseURL?.absoluteString == "https://api.example.com/v1")
        #expect(
            configuration.timeouts
                == Timeouts(
                    connect: .seconds(2), firstByte: .seconds(2.5), idle: nil, total: .seconds(10),
                    queue: .milliseconds(500)))
        #expect(configuration.maximumConnections == 64)
        #expect(configuration.maximumConnectionsPerHost == 8)
        #expect(configuration.connectionIdleLifetime == .seconds(30))
        #expect(configuration.maximumConnectionAge == .seconds(600))
        #expect(configuration.maximumBodySize == 1024)
        #expect(configuration.maximumHeaderSize == 2048)
        #expect(configuration.httpVersion == .http1_1)
        #expect(configuration.redirects.limit == 0)
        #expect(configuration.tls.trustRoots == .file(URL(filePath: "/etc/roots.pem")))
        #expect(
            configuration.tls.clientIdentity
                == .files(certificate: URL(filePath: "/etc/own.pem"), key: URL(filePath: "/etc/own.key")))
        #expect(configuration.tls.minimumVersion == .v1_3)
        #expect(configuration.addressPolicy == .publicOnly)
        #expect(configuration.headers["User-Agent"] == "shop/1")
    }

    @Test func proxies() throws {
        let proxy = try #require(URL(string: "http://proxy.example.com:3128"))
        let full = try SessionConfiguration(
            reader: reader([
                "proxy.url": "http://proxy.example.com:3128", "proxy.username": "name", "proxy.password": "PASSWORD",
                "proxy.exclusions": "localhost, .internal",
            ]))
        #expect(
            full.proxy
                == .url(proxy, username: "name", password: "PASSWORD", exclusions: ["localhost", ".internal"]))
        #expect(try SessionConfiguration(reader: reader(["proxy.mode": "none"])).proxy == Proxy.none)
        let base = SessionConfiguration { $0.proxy = .none }
        #expect(
            try SessionConfiguration(reader: reader(["proxy.mode": "environment"]), base: base).proxy == .environment)
    }

    @Test(
        arguments: [
            ("timeouts.totalSeconds", ConfigValue(stringLiteral: "soon")), ("timeouts.totalSeconds", -1),
            ("timeouts.totalSeconds", false), ("timeouts.connectSeconds", 0), ("maximumConnections", 0),
            ("maximumConnections", "many"), ("maximumBodySize", 1.5), ("redirects.limit", -1), ("httpVersion", "http9"),
            ("httpVersion", 2), ("baseURL", "api.example.com"), ("baseURL", "ftp://example.com"),
            ("proxy.url", "proxy:3128"),
            ("proxy.mode", "auto"), ("tls.trustRootsFile", "roots.pem"), ("tls.minimumVersion", "1.0"),
            ("addressPolicy", "private"),
        ] as [(String, ConfigValue)])
    func badValuesAreErrorsThatNameTheKey(key: String, value: ConfigValue) throws {
        let error = try #require(throws: ConfigurationValueError.self) {
            try SessionConfiguration(
                reader: reader([AbsoluteConfigKey(key.split(separator: ".").map(String.init)): value]))
        }
        #expect(error.key == key)
        #expect(error.description.contains("'\(key)'"))
    }

    @Test(
        arguments: [
            (["tls.certificateFile": "/etc/own.pem"], "tls.keyFile"),
            (["tls.keyFile": "/etc/own.key"], "tls.certificateFile"),
            (["tls.keyPassphrase": "secret"], "tls.keyFile"),
            (
                ["tls.trustRootsFile": "/etc/roots.pem", "tls.trustRootsDirectory": "/etc/roots"],
                "tls.trustRootsDirectory"
            ),
            (["proxy.mode": "url"], "proxy.url"),
            (["proxy.username": "name"], "proxy.username"),
            (["proxy.password": "secret"], "proxy.password"),
            (["proxy.exclusions": "localhost"], "proxy.exclusions"),
            (["proxy.mode": "none", "proxy.url": "http://proxy.example.com:3128"], "proxy.url"),
            (["proxy.mode": "environment", "proxy.exclusions": "localhost"], "proxy.exclusions"),
        ] as [([AbsoluteConfigKey: ConfigValue], String)])
    func valuesThatBelongTogether(values: [AbsoluteConfigKey: ConfigValue], key: String) throws {
        let error = try #require(throws: ConfigurationValueError.self) {
            try SessionConfiguration(reader: reader(values))
        }
        #expect(error.key == key)
    }

    @Test func secretsAreNotInErrors() throws {
        let error = try #require(throws: ConfigurationValueError.self) {
            try SessionConfiguration(reader: reader(["proxy.url": "name:PASSWORD@proxy"]))
        }
        #expect(!error.description.contains("PASSWORD"))
    }
}
