public import CurlewCore
internal import Foundation

extension ServerSentEvent {
    /// Decodes the event's data.
    ///
    ///     for try await event in session.streamRequest(url).events where event.data != "[DONE]" {
    ///         print(try event.decode(Answer.self))
    ///     }
    ///
    /// Throws `.decodingFailed` if the data does not decode.
    public func decode<T: Decodable>(
        _ type: T.Type = T.self,
        decoder: any DataDecoder = FastJSONDecoder()
    ) throws(CurlewError) -> T {
        try decoder.value(type, of: Data(data.utf8), named: "the event's data")
    }
}
