internal import CCurl
internal import CurlewCore
internal import Foundation

extension ConnectionPlan.Surroundings {
    /// Those of this process, now.
    static func current(_ capabilities: Capabilities) -> Self {
        var bundle: String?
        // 7.70 added the compiled-in path of the bundle to curl_version_info.
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
