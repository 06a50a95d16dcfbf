extension OptionTable {
    static let webSocket: [OptionSpec] = [
        OptionSpec(
            .subprotocol, "subprotocol", value: .text("NAME"), group: .webSocket,
            help: "Request this subprotocol. May be given several times, the preferred one first."
        ),
        OptionSpec(
            .binary, "binary", group: .webSocket, help: "Send lines as binary messages, which need not be UTF-8."
        ),
        OptionSpec(
            .ping, "ping", value: .text("TIME"), group: .webSocket,
            help: "Send a ping this often: seconds, or 500ms, 2m. If no pong arrives within --timeout (default: 20 "
                + "seconds), that is an error."
        ),
        OptionSpec(
            .linger, "linger", value: .text("TIME"), group: .webSocket,
            help: "After the end of standard input, close when the server has been silent for this long; 0 closes at "
                + "once. By default, close after one answer for each line and half a second of silence, or after "
                + "--timeout."
        ),
    ]
}
