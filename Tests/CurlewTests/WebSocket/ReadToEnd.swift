import Curlew
import CurlewCore

extension WebSocketRequest {
    /// Returns the messages, and the error that ended them.
    func readToEnd() async -> (messages: [WebSocketMessage], error: CurlewError?) {
        var seen: [WebSocketMessage] = []
        do throws(CurlewError) {
            for try await message in messages { seen.append(message) }
            return (seen, nil)
        } catch {
            return (seen, error)
        }
    }
}
