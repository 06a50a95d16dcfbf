#if FUZZING
import Foundation

/// The target that `CURLEW_FUZZ_TARGET` names.
private let chosen = FuzzTarget.all.first {
    $0.name == ProcessInfo.processInfo.environment["CURLEW_FUZZ_TARGET"]
}

/// Runs the target with one input. Called by libFuzzer.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let chosen else { stop("CURLEW_FUZZ_TARGET names no target") }
    do {
        try chosen.run(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        stop("\(chosen): \(error)")
    }
    return 0
}

private func stop(_ reason: String) -> Never {
    FileHandle.standardError.write(Data("BROKEN PROPERTY \(reason)\n".utf8))
    abort()
}
#endif
