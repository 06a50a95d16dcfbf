import CurlewAlamofire
import Foundation

// Call sites of the public contract, as a user types them. They are compiled, not run.

private func freeFunctions(_ url: URL) {
    _ = request(url)
    _ = download(url)
    _ = upload(Data(), to: url)
    _ = streamRequest(url)
    _ = CurlewAlamofire.request(url)
    _ = CurlewAlamofire.download(url)
    _ = CurlewAlamofire.upload(Data(), to: url)
    _ = CurlewAlamofire.streamRequest(url)
    _ = Session.default.request(url)
    _ = AF.request(url)
}
