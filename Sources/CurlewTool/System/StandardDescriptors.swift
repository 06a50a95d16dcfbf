internal import Foundation

/// Protects a command that is started with closed standard descriptors, as by `2>&-`.
enum StandardDescriptors {
    /// Opens `/dev/null` for each closed descriptor, in the direction that is not used, so that reads and writes still
    /// fail. Otherwise the next file or socket would get the number, and messages would be written into it.
    static func occupy() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
            // `open` returns the lowest free number, which is this one.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
