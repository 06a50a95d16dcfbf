"""redis-server: one that any client may use, and one with a password."""

CONFIGURATION = """
bind 127.0.0.1
port {port}
dir {folder}
save ""
appendonly no
daemonize no
logfile ""
maxmemory 256mb
maxmemory-policy allkeys-lru
"""


def configuration(folder, port: int, password: str = ""):
    text = CONFIGURATION.format(folder=folder, port=port)
    return text + f'requirepass "{password}"\n' if password else text
