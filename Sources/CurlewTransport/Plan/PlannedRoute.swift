internal import CCurl
internal import CurlewCore
internal import Foundation

/// A way by HTTP/3 as libcurl's options, on top of those of the usual way. An object, because few plans have one.
final class PlannedRoute: Sendable {
    let route: AlternativeRoute
    let settings: [OptionValue]
    /// RFC 7838, 5.
    let headerLine: String

    /// How long QUIC has to get through where libcurl does not race it with TCP. Then the origin is asked.
    static let patience = Duration.seconds(3)

    init(_ route: AlternativeRoute, _ configuration: TransportConfiguration, _ timeouts: Timeouts) {
        self.route = route
        headerLine = "Alt-Used: \(route.authority)"
        switch route.mode {
        case .raced:
            // A connection that is there already would be taken without a race.
            settings = [
                .long(CURLOPT_HTTP_VERSION, Int(CURLEW_HTTP_VERSION_3)), .long(CURLOPT_FRESH_CONNECT, 1),
            ]
        case .alone:
            // Half of what there is: the rest is for the origin.
            let patience = timeouts.connect.map { min(Self.patience, $0 / 2) } ?? Self.patience
            var settings: [OptionValue] = [
                .long(CURLOPT_HTTP_VERSION, Int(CURLEW_HTTP_VERSION_3ONLY)),
                .long(CURLOPT_CONNECTTIMEOUT_MS, max(1, patience.clampedMilliseconds)),
            ]
            if route.isElsewhere {
                // Names and certificates stay the origin's: CURLOPT_CONNECT_TO(3).
                settings.append(.list(CURLOPT_CONNECT_TO, ["::\(route.authority)"]))
                settings += DNSPlan.overrides(
                    configuration.dns, host: route.host ?? route.origin.host, port: route.port)
            }
            self.settings = settings
        }
    }
}
