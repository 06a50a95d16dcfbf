import CurlewAlamofire
import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite(.timeLimit(.minutes(4)))
struct MultipartFormDataTests {
    private let scratch: ScratchDirectory

    init() throws { scratch = try ScratchDirectory() }

    private static func form() -> MultipartFormData { MultipartFormData(boundary: "B") }

    @Test func boundariesAreRandom() {
        let form = MultipartFormData()
        #expect(form.boundary.wholeMatch(of: /curlew\.boundary\.[0-9a-f]{19}/) != nil)
        #expect(form.boundary != MultipartFormData().boundary)
        #expect(Self.form().contentType == "multipart/form-data; boundary=B")
    }

    @Test func formLaysOutDataParts() throws {
        let form = Self.form()
        form.append(Data("one".utf8), withName: "a")
        form.append(Data("two".utf8), withName: "b", fileName: "b.txt", mimeType: "text/plain")
        #expect(form.contentLength == 6)
        let expected =
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none"
            + "\r\n--B\r\nContent-Disposition: form-data; name=\"b\"; filename=\"b.txt\"\r\nContent-Type: text/plain\r\n\r\ntwo"
            + "\r\n--B--\r\n"
        #expect(String(decoding: try form.encode(), as: UTF8.self) == expected)
        #expect(String(decoding: try form.encode(), as: UTF8.self) == expected)
    }

    @Test func partAppendedAfterEncodingIsInNextEncoding() throws {
        let form = Self.form()
        form.append(Data("one".utf8), withName: "a")
        _ = try form.encode()
        form.append(Data("two".utf8), withName: "b")
        let whole = Self.form()
        whole.append(Data("one".utf8), withName: "a")
        whole.append(Data("two".utf8), withName: "b")
        #expect(try form.encode() == whole.encode())
    }

    @Test func readsFilesAndStreams() throws {
        let url = try scratch.write("photo.jpg", "file")
        let form = Self.form()
        form.append(url, withName: "photo")
        form.append(
            InputStream(data: Data("stream".utf8)), withLength: 6, name: "s", fileName: "s.bin", mimeType: "x/y")
        let text = String(decoding: try form.encode(), as: UTF8.self)
        #expect(
            text == "--B\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"photo.jpg\"\r\n"
                + "Content-Type: image/jpeg\r\n\r\nfile\r\n--B\r\nContent-Disposition: form-data; name=\"s\"; "
                + "filename=\"s.bin\"\r\nContent-Type: x/y\r\n\r\nstream\r\n--B--\r\n"
        )
        // The stream has been consumed.
        let error = #expect(throws: CurlewError.self) { try form.encode() }
        #expect(error?.code == .bodyUnavailable)
    }

    @Test func escapesNames() throws {
        let form = Self.form()
        form.append(Data(), withName: "a\"b\nc", fileName: "d\"\r\ne", mimeType: "x/y")
        let text = String(decoding: try form.encode(), as: UTF8.self)
        #expect(text.contains("name=\"a%22b%0D%0Ac\"; filename=\"d%22%0D%0Ae\"\r\n"))
    }

    @Test func refusesHeadersThatForgeOthers() throws {
        let form = Self.form()
        form.append(Data(), withName: "a", fileName: "b", mimeType: "x/y\r\nX-Forged: 1")
        #expect(throws: CurlewError.self) { try form.encode() }
    }

    private func firstReason(_ form: MultipartFormData) -> String {
        let error = #expect(throws: CurlewError.self) { try form.encode() }
        #expect(error?.isMultipartEncodingError == true)
        guard case .multipartEncodingFailed(let reason)? = error?.afError else { return "none" }
        // Every reason names the file that is to blame.
        #expect(error?.url != nil)
        return String("\(reason)".prefix { $0 != "(" })
    }

    @Test func unusableFilesAreErrors() throws {
        let file = try scratch.write("file.txt", "x")
        func reason(_ url: URL) -> String {
            let form = Self.form()
            form.append(url, withName: "a", fileName: "f", mimeType: "x/y")
            return firstReason(form)
        }
        #expect(reason(URL(string: "https://example.com/f.txt")!) == "bodyPartURLInvalid")
        #expect(reason(file.appendingPathExtension("not")) == "bodyPartFileNotReachableWithError")
        #expect(reason(file.deletingLastPathComponent()) == "bodyPartFileIsDirectory")
        #expect(reason(URL(filePath: "/dev/null")) == "bodyPartFileSizeNotAvailable")
        let nameless = Self.form()
        nameless.append(try scratch.write("noextension", ""), withName: "a")
        #expect(firstReason(nameless) == "bodyPartFilenameInvalid")
    }

    @Test func errorNamesTheUnreadableFile() async throws {
        let missing = scratch.url.appending(path: "missing.txt")
        let form = Self.form()
        form.append(missing, withName: "a")
        #expect(throws: CurlewError.self) { try form.encode() }
        let error = #expect(throws: CurlewError.self) { try form.encode() }
        #expect(error?.url == missing)
        let sent = await Session().upload(multipartFormData: form, to: "http://127.0.0.1:1/").response()
        #expect(sent.error?.url == missing)
    }

    /// Alamofire reports a missing extension first, whether the file exists or not.
    @Test(arguments: [true, false]) func fileWithoutExtensionNeedsNameAndMediaType(isThere: Bool) throws {
        let file = isThere ? try scratch.write("LICENSE", "x") : scratch.url.appending(path: "LICENSE")
        let form = Self.form()
        form.append(file, withName: "a")
        let error = #expect(throws: CurlewError.self) { try form.encode() }
        #expect(error?.code == .multipartEncodingFailed)
        let reason = try #require(error?.reason)
        for words in ["no extension", "media type", "fileName:", "mimeType:", file.path] {
            #expect(reason.contains(words), "\(reason)")
        }
        let named = Self.form()
        named.append(file, withName: "a", fileName: "LICENSE", mimeType: "text/plain")
        if isThere {
            #expect(try named.encode().isEmpty == false)
        } else {
            let error = #expect(throws: CurlewError.self) { try named.encode() }
            #expect(error?.reason.contains("not reachable") == true)
        }
    }

    @Test func firstErrorOfTheFormIsKept() throws {
        let form = Self.form()
        form.append(URL(string: "https://example.com/f.txt")!, withName: "a", fileName: "f", mimeType: "x/y")
        form.append(URL(filePath: "/"), withName: "a", fileName: "f", mimeType: "x/y")
        form.append(Data([1]), withName: "b")
        #expect(form.contentLength == 0)
        #expect(firstReason(form) == "bodyPartURLInvalid")
        #expect(throws: CurlewError.self) { try form.writeEncodedData(to: URL(filePath: "/tmp/never")) }
        #expect(throws: CurlewError.self) { try form.body() }
    }

    @Test(arguments: [("abc", UInt64(5)), ("", 1)])
    func streamShorterThanDeclaredIsAnError(text: String, declared: UInt64) throws {
        let form = Self.form()
        form.append(InputStream(data: Data(text.utf8)), withLength: declared, headers: ["A": "1"])
        let error = #expect(throws: CurlewError.self) { try form.encode() }
        #expect(
            error?.underlyingError as? AFError.UnexpectedInputStreamLength
                == AFError.UnexpectedInputStreamLength(bytesExpected: declared, bytesRead: UInt64(text.utf8.count))
        )
    }

    @Test func writesFiles() throws {
        let form = Self.form()
        form.append(Data("one".utf8), withName: "a")
        let url = scratch.file("out")
        try form.writeEncodedData(to: url)
        #expect(try Data(contentsOf: url) == form.encode())
        func reason(_ url: URL) -> String {
            let error = #expect(throws: CurlewError.self) { try form.writeEncodedData(to: url) }
            return "\(error?.afError as Any)"
        }
        #expect(reason(url).contains("outputStreamFileAlreadyExists"))
        #expect(reason(URL(string: "https://example.com/")!).contains("outputStreamURLInvalid"))
        #expect(reason(url.appendingPathComponent("below")).contains("outputStreamCreationFailed"))
    }

    /// A link counts as an existing file even if its target does not exist.
    @Test func doesNotWriteThroughALink() throws {
        let form = Self.form()
        form.append(Data("one".utf8), withName: "a")
        let (link, target) = (scratch.file("link"), scratch.file("target"))
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
        let error = #expect(throws: CurlewError.self) { try form.writeEncodedData(to: link) }
        let reason = "\(error?.afError as Any)"
        #expect(reason.contains("outputStreamFileAlreadyExists"))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == target.path)
        #expect(scratch.names == ["link"])
    }

    @Test func givesWrittenFilesTheUsualPermissions() throws {
        let form = Self.form()
        form.append(Data("one".utf8), withName: "a")
        let url = scratch.file("out")
        try form.writeEncodedData(to: url)
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        #expect(attributes[.posixPermissions] as? Int == Int(FilePermissions.ofNewFile()))
    }

    @Test func turnsParametersIntoParts() throws {
        let form = Self.form()
        form.append(["b": [1, 2], "a": "x", "c": Data("raw".utf8), "d": true])
        let text = String(decoding: try form.encode(), as: UTF8.self)
        let parts = text.matches(of: /name="([^"]+)"\r\n\r\n([^\r]*)/).map { "\($0.output.1)=\($0.output.2)" }
        #expect(parts == ["a=x", "b[]=1", "b[]=2", "c=raw", "d=true"])
    }

    /// `URLEncoding` adds brackets to the keys of arrays, even if the array is in a dictionary.
    @Test func nestedDataAndNullAreEncodedAsParts() throws {
        let form = Self.form()
        let list: [any Sendable] = [Data("raw".utf8), NSNull(), true]
        form.append(["a": list, "b": ["x": Data("deep".utf8), "y": NSNull(), "z": list] as [String: any Sendable]])
        let text = String(decoding: try form.encode(), as: UTF8.self)
        let parts = text.matches(of: /name="([^"]+)"\r\n\r\n([^\r]*)/).map { "\($0.output.1)=\($0.output.2)" }
        #expect(parts == ["a[]=raw", "a[]=", "a[]=true", "b[x]=deep", "b[y]=", "b[z][]=raw", "b[z][]=", "b[z][]=true"])
    }

    /// RFC 2045, 5.1: a boundary that is not a token is quoted.
    @Test(arguments: [
        ("a:b", "\"a:b\""), ("a b", "\"a b\""), ("a=b", "\"a=b\""), ("(a)", "\"(a)\""), ("a'+_-.", "a'+_-."),
    ])
    func quotesBoundaries(boundary: String, written: String) throws {
        let form = MultipartFormData(boundary: boundary)
        form.append(Data("one".utf8), withName: "a")
        #expect(form.contentType == "multipart/form-data; boundary=\(written)")
        #expect(String(decoding: try form.encode(), as: UTF8.self).hasPrefix("--\(boundary)\r\n"))
    }

    @Test(arguments: [
        ("jpg", "image/jpeg"), ("JPEG", "image/jpeg"), ("png", "image/png"), ("json", "application/json"),
        ("txt", "text/plain"), ("nosuchthing", "application/octet-stream"), ("", "application/octet-stream"),
    ])
    func knowsMediaTypes(pathExtension: String, type: String) {
        #expect(MIMETypes.type(forExtension: pathExtension) == type)
    }

    @Test func readsTheSystemsListOfMediaTypes() {
        let list = MIMETypes.parse("# comment\n\nx/y a B # c\nx/z a\nnotype b\nx/none\n")
        #expect(list == ["a": "x/y", "b": "x/y"])
    }
}
