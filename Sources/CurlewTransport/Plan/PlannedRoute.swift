internal import CCurl
internal import CurlewCore
internal import Foundation

/// An HTTP/3 route as options, which are appended to those of the usual route. A class, so that an absent route costs
/// one pointer in every plan.
final class PlannedRoute: Sendable {
    let route: AlternativeRoute
    let settings: [OptionValue]
    /// The field that names the alternative service in use (RFC 7838, 5).
    let headerLine: String

    /// The connect timeout if libcurl does not race QUIC with TCP. After it the request is sent to the origin.
    static let patience = Duration.seconds(3)

    init(_ route: AlternativeRoute, _ configuration: TransportConfiguration, _ timeouts: Timeouts) {
        self.route = route
        headerLine = "Alt-Used: \(route.authority)"
        switch route.mode {
        case .raced:
            // Without a fresh connection libcurl would use an existing one and not race.
            settings = [
                .long(CURLOPT_HTTP_VERSION, Int(CURLEW_HTTP_VERSION_3)), .long(CURLOPT_FRESH_CONNECT, 1),
            ]
        case .alone:
            // The other half of the connect timeout is left for the origin.
            let patience = timeouts.connect.map { min(Self.patience, $0 / 2) } ?? Self.patience
            var settings: [OptionValue] = [
                .long(CURLOPT_HTTP_VERSION, Int(CURLEW_HTTP_VERSION_3ONLY)),
                .long(CURLOPT_CONNECTTIMEOUT_MS, max(1, patience.clampedMilliseconds)),
            ]
            if route.isElsewhere {
                // Host name and certificate remain those of the origin: CURLOPT_CONNECT_TO(3).
                settings.append(.list(CURLOPT_CONNECT_TO, ["::\(route.authority)"]))
                settings += DNSPlan.overrides(
                    configuration.dns, host: route.host ?? route.origin.host, port: route.port)
            }
            self.settings = settings
        }
    }
}
