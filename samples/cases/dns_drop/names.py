# Answers questions for names on 127.0.0.1:53, but loses the first AAAA question about each second name, as a router
# does that drops one of two packets of a port.
import socket
import struct

TYPE_A, TYPE_AAAA = 1, 28

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
open("ready", "w").close()
lost = set()
while True:
    question, peer = server.recvfrom(512)
    end = question.index(b"\0", 12)
    name = question[12:end]
    (asked,) = struct.unpack("!H", question[end + 1 : end + 3])
    number = int(name.split(b"-")[1].split(b"\x02")[0][:1])
    if asked == TYPE_AAAA and number % 2 == 0 and name not in lost:
        lost.add(name)
        continue
    answer = b"\xc0\x0c" + struct.pack("!HHIH", TYPE_A, 1, 60, 4) + socket.inet_aton("127.0.0.1") if asked == TYPE_A else b""
    counts = struct.pack("!HHHH", 1, 1 if answer else 0, 0, 0)
    server.sendto(question[:2] + b"\x81\x80" + counts + question[12 : end + 5] + answer, peer)
