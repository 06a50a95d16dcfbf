internal import Foundation

/// Standard input, output and error of a command that is started without them, as by `2>&-`.
enum StandardDescriptors {
    /// Gives the numbers of those that are closed to what can neither be read nor written as they would be. The next file or
    /// socket would get the number otherwise, and messages would be written into it.
    static func occupy() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
            // The lowest number that is free: this one.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
