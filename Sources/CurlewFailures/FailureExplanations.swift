internal import CurlewCore
internal import Foundation

/// Makes an error's message for people.
package enum Explanation {
    package static func of(_ error: any Error) -> String {
        if let error = error as? CurlewError { return error.reason.isEmpty ? error.code.rawValue : error.reason }
        // An error from another library may contain the URL of the request, with its secrets.
        return Redaction.text((error as? any LocalizedError)?.errorDescription ?? "\(error)")
    }
}

extension CurlewError.URLRequestValidationFailureReason {
    var explanation: String {
        switch self {
        case .bodyDataInGETRequest(let data): "Invalid URLRequest: a GET request had \(data.count) bytes of body."
        }
    }
}

extension CurlewError.ParameterEncodingFailureReason {
    var explanation: String {
        switch self {
        case .missingURL: "URL request to encode was missing a URL."
        case .jsonEncodingFailed(let error): "JSON could not be encoded because of error: \(Explanation.of(error))"
        case .propertyListEncodingFailed(let error):
            "Property list could not be encoded because of error: \(Explanation.of(error))"
        case .customEncodingFailed(let error):
            "Custom parameter encoder failed with error: \(Explanation.of(error))"
        }
    }
}

extension CurlewError.ParameterEncoderFailureReason {
    var explanation: String {
        switch self {
        case .missingRequiredComponent(.url): "Encoding failed: the request has no URL."
        case .missingRequiredComponent(.httpMethod(let rawValue)):
            "Encoding failed: the request has no HTTP method (\(rawValue))."
        case .encoderFailed(let error): "The underlying encoder failed with error: \(Explanation.of(error))"
        }
    }
}

extension CurlewError.MultipartEncodingFailureReason {
    var explanation: String {
        switch self {
        case .bodyPartURLInvalid(let url): "The URL is not a file URL: \(url.path)"
        case .bodyPartFilenameInvalid(let url) where url.lastPathComponent.isEmpty:
            "The URL has no file name: \(url.path)"
        case .bodyPartFilenameInvalid(let url):
            "The name has no extension, so no media type follows (pass fileName: and mimeType:): \(url.path)"
        case .bodyPartFileNotReachable(let url): "The file is not reachable: \(url.path)"
        case .bodyPartFileNotReachableWithError(let url, let error):
            "The file is not reachable: \(url.path) (\(Explanation.of(error)))"
        case .bodyPartFileIsDirectory(let url): "The file is a directory: \(url.path)"
        case .bodyPartFileSizeNotAvailable(let url): "The file's size is not available: \(url.path)"
        case .bodyPartFileSizeQueryFailedWithError(let url, let error):
            "The file's size is not available: \(url.path) (\(Explanation.of(error)))"
        case .bodyPartInputStreamCreationFailed(let url): "The file could not be opened: \(url.path)"
        case .bodyPartHeaderInvalid(let name): "A header of a part would break out of its line: \(name)"
        case .outputStreamCreationFailed(let url): "The output file could not be created: \(url.path)"
        case .outputStreamFileAlreadyExists(let url): "The output file exists already: \(url.path)"
        case .outputStreamURLInvalid(let url): "The output URL is not a file URL: \(url.path)"
        case .outputStreamWriteFailed(let error): "Writing failed with error: \(Explanation.of(error))"
        case .inputStreamReadFailed(let error): "Reading a part failed with error: \(Explanation.of(error))"
        }
    }
}

extension CurlewError.ResponseValidationFailureReason {
    var code: CurlewError.Code {
        switch self {
        case .unacceptableStatusCode: .unacceptableStatus
        case .missingContentType, .unacceptableContentType: .unacceptableContentType
        case .dataFileNil, .customValidationFailed: .validationFailed
        case .dataFileReadFailed: .fileUnreadable
        }
    }

    var explanation: String {
        switch self {
        case .dataFileNil: "Response could not be validated: there is no file."
        case .dataFileReadFailed(let url): "Response could not be validated: the file is unreadable: \(url.path)"
        case .missingContentType(let types):
            "Response had no content type; acceptable are: \(types.joined(separator: ","))."
        case .unacceptableContentType(let types, let type):
            "Response content type \"\(type)\" does not match any acceptable type: \(types.joined(separator: ","))."
        case .unacceptableStatusCode(let code): "Response status code was unacceptable: \(code)."
        case .customValidationFailed(let error):
            "Custom response validation failed with error: \(Explanation.of(error))"
        }
    }
}

extension CurlewError.ResponseSerializationFailureReason {
    var code: CurlewError.Code {
        switch self {
        case .inputFileReadFailed: .fileUnreadable
        case .inputDataNilOrZeroLength, .inputFileNil, .stringSerializationFailed, .jsonSerializationFailed,
            .decodingFailed, .customSerializationFailed, .invalidEmptyResponse:
            .decodingFailed
        }
    }

    var explanation: String {
        switch self {
        case .inputDataNilOrZeroLength: "Response could not be serialized: there is no body."
        case .inputFileNil: "Response could not be serialized: there is no file."
        case .inputFileReadFailed(let url): "Response could not be serialized: the file is unreadable: \(url.path)"
        case .stringSerializationFailed(let encoding): "Response is no text in the encoding \(encoding)."
        case .jsonSerializationFailed(let error): "Response is no JSON: \(Explanation.of(error))"
        case .decodingFailed(let error): "Response could not be decoded because of error: \(Explanation.of(error))"
        case .customSerializationFailed(let error):
            "Custom response serializer failed with error: \(Explanation.of(error))"
        case .invalidEmptyResponse(let type):
            "Empty response cannot be serialized to \(type); use Empty, or a type that conforms to EmptyResponse."
        }
    }
}
