internal import CCurl
internal import CurlewCore
internal import Foundation

extension ConnectionPlan.Surroundings {
    /// Returns the surroundings of this process at the time of the call.
    static func current(_ capabilities: Capabilities) -> Self {
        var bundle: String?
        // curl_version_info has the compiled-in path of the bundle since 7.70.
        if capabilities.isAtLeast(7, 70, 0), let path = curlew_version_info()?.pointee.cainfo {
            let text = String(cString: path)
            if FileManager.default.isReadableFile(atPath: text) { bundle = text }
        }
        return Self(
            capabilities: capabilities,
            systemBundle: bundle,
            environmentNamesProxy: ProxyPlan.environmentNamesProxy(ProcessInfo.processInfo.environment)
        )
    }
}
