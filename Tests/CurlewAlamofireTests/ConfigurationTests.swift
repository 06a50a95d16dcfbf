import CurlewAlamofire
import CurlewTesting
import Dispatch
import Foundation
import FoundationNetworking
import Testing

/// What Alamofire's code hands to a session.
@Suite(.timeLimit(.minutes(4)))
struct ConfigurationTests {
    @Test func foundationsConfigurationIsTakenAsFarAsItHasAMeaning() {
        let foundation = URLSessionConfiguration.ephemeral
        foundation.timeoutIntervalForRequest = 7
        foundation.timeoutIntervalForResource = 30
        foundation.httpMaximumConnectionsPerHost = 3
        foundation.httpAdditionalHeaders = ["X-Mark": "yes"]
        let configuration = SessionConfiguration(foundation)
        #expect(configuration.timeouts.firstByte == .seconds(7))
        #expect(configuration.timeouts.idle == .seconds(7))
        #expect(configuration.timeouts.total == .seconds(30))
        #expect(configuration.maximumConnectionsPerHost == 3)
        #expect(configuration.headers["x-mark"] == "yes")
    }

    @Test func foundationsDefaultsLeaveCurlewsFieldsAndNoTotalClock() {
        let configuration = SessionConfiguration(URLSessionConfiguration.default)
        #expect(configuration.headers == HTTPHeaders.default)
        #expect(configuration.timeouts.total == nil)
        #expect(
            configuration.maximumConnectionsPerHost == URLSessionConfiguration.default.httpMaximumConnectionsPerHost)
    }

    @Test func cookiesThatFoundationWouldNotSetAreNotKept() {
        let foundation = URLSessionConfiguration.ephemeral
        foundation.httpCookieAcceptPolicy = .never
        #expect(SessionConfiguration(foundation).cookies == nil)
        #expect(SessionConfiguration.ephemeral.cookies != nil)
    }

    @Test func queuesAreAcceptedAndIgnored() async throws {
        let server = try TestServer()
        let queue = DispatchQueue(label: "queue")
        let sessions = [
            Session(rootQueue: queue),
            Session(rootQueue: queue, requestQueue: queue, serializationQueue: queue),
            Session(configuration: .ephemeral, startRequestsImmediately: true, requestQueue: queue),
            Session(serializationQueue: queue, eventMonitors: [AlamofireNotifications()]),
        ]
        for session in sessions {
            #expect(await session.request(server.url("/anything")).serializingData().response.error == nil)
        }
    }
}
