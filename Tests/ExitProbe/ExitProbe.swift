import COpenSSL
import CurlewCore
import CurlewTransport
import Foundation
import Glibc

/// A program for tests that need a separate process.
///
///     ExitProbe exit|return|thread|wait <URL> <CA file> <exchanges>   ends, or waits, in the middle of transfers
///     ExitProbe resolve <address> <rounds>                            cancels requests while names are looked up
@main
enum ExitProbe {
    static func main() {
        // A process inherits the blocked signals of the thread that starts it.
        var none = sigset_t()
        sigemptyset(&none)
        sigprocmask(SIG_SETMASK, &none, nil)
        // Acts as a program that has used OpenSSL, for a certificate or a digest, before its first request.
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_LOAD_CRYPTO_STRINGS), nil)
        // OpenSSL must not clean up at exit while other threads use it. If it does, the status is 3.
        OPENSSL_atexit { _exit(3) }
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "resolve", arguments.count == 3, let rounds = Int(arguments[2]) {
            exit(CancelledLookups(server: arguments[1]).run(rounds: rounds) ? 0 : 1)
        }
        guard arguments.count == 4, let url = URL(string: arguments[1]), let count = Int(arguments[3]) else { exit(2) }
        let load = Load(url: url, authority: URL(filePath: arguments[2]))
        load.start()
        while load.count < count { usleep(200) }
        switch arguments[0] {
        case "exit": exit(0)
        case "return": return
        case "thread":
            Task.detached { exit(0) }
            while true { pause() }
        case "wait":
            print("running")
            fflush(nil)
            while true { pause() }
        default: exit(2)
        }
    }
}
